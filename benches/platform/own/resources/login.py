def main(request, response):
    return (401, "Unauthorized"), [("WWW-Authenticate", 'Basic realm="x"'), ("Content-Type", "text/plain")], "login"
