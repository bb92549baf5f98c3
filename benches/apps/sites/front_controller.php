<?php
// Answers every path that is no file by index.php, as the rules for Apache do that come with an application.
$file = $_SERVER['DOCUMENT_ROOT'] . parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if (is_file($file)) {
    return false;
}
// PHP's server takes the address that it listens on for its name.
$_SERVER['SERVER_NAME'] = explode(':', $_SERVER['HTTP_HOST'])[0];
chdir($_SERVER['DOCUMENT_ROOT']);
$_SERVER['SCRIPT_NAME'] = '/index.php';
require $_SERVER['DOCUMENT_ROOT'] . '/index.php';
