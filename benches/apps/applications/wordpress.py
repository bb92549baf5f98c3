"""WordPress of Debian."""

import urllib.parse

from application import Debian, Task
from applications.mariadb import PASSWORD, MariaDb
from words import check, choose, click, fill, hover, press, see, type_in

WORD = "Harbour-Lantern-58"

CONFIG = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'warden');
define('DB_PASSWORD', '%s');
define('DB_HOST', '127.0.0.1:%d');
define('DB_CHARSET', 'utf8mb4');
define('WP_CONTENT_DIR', '/var/lib/wordpress/wp-content');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
"""

SEED = r"""
$_SERVER['HTTP_HOST'] = '%s';
require '/usr/share/wordpress/wp-load.php';
wp_insert_term('Recipes', 'category');
foreach (['Winter soup', 'Rye bread', 'Plum cake', 'Old draft'] as $title)
    wp_insert_post(['post_title' => $title, 'post_content' => "<!-- wp:paragraph --><p>About $title.</p><!-- /wp:paragraph -->",
        'post_status' => 'publish', 'post_author' => 1]);
$post = get_page_by_title('Rye bread', OBJECT, 'post');
foreach (['Greta' => 'Which flour do you use?', 'Spam King' => 'Cheap watches here'] as $who => $text)
    wp_insert_comment(['comment_post_ID' => $post->ID, 'comment_author' => $who, 'comment_author_email' => 'a@example.com',
        'comment_content' => $text, 'comment_approved' => 0]);
"""


class Fresh(MariaDb, Debian):
    """WordPress that was not yet installed."""

    root = "/usr/share/wordpress"
    path = "/"
    ready = "/wp-admin/install.php"

    def prepare(self):
        site = f"{self.address.removeprefix('http://')}"
        for name in ("config-default.php", f"config-{site}.php", f"config-{site.split(':')[0]}.php"):
            path = self.upper / "etc/wordpress" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(CONFIG % (PASSWORD, self.database_port))
        self.start_database()
        self.sql("create database wordpress character set utf8mb4")

    def option(self, name):
        return self.sql(f"select option_value from wp_options where option_name = '{name}'", "wordpress")

    tasks = [
        Task(
            "install-wizard",
            "Install WordPress: title Tide Tables, user warden, password Harbour-Lantern-58, mail warden@example.com.",
            [
                *([]),
                fill("Site Title", "Tide Tables"),
                fill("Username", "warden"),
                fill("Password", WORD),
                fill("Your Email", "warden@example.com"),
                click("Install WordPress", role="button"),
                see("Success!"),
            ],
            lambda app: (app.option("blogname") + app.sql("select user_login, user_email from wp_users", "wordpress"), [["Tide Tables"], ["warden", "warden@example.com"]]),
            start="/wp-admin/install.php?step=1",
        ),
    ]


class WordPress(Fresh):
    """WordPress with an administrator, four posts and two comments that wait."""

    path = "/wp-login.php"
    before = [
        fill("Username or Email Address", "warden"),
        fill("Password", WORD),
        click("Log In", role="button"),
        see("Dashboard"),
    ]

    def filled(self):
        form = {"weblog_title": "Tide Tables", "user_name": "warden", "admin_password": WORD, "admin_password2": WORD, "pw_weak": "1"}
        form |= {"admin_email": "warden@example.com", "blog_public": "0", "language": ""}
        self.ask("/wp-admin/install.php?step=2", data=urllib.parse.urlencode(form).encode())
        self.run(*self.in_debian(*self.php("-r", SEED % self.address.removeprefix("http://"))))

    def posts(self, title, columns="post_status"):
        return self.sql(f"select {columns} from wp_posts where post_title = '{title}' and post_type = 'post'", "wordpress")

    tasks = [
        Task(
            "login-wrong-then-right",
            "Log in as warden, first with a wrong password, then with the right one, and open the posts.",
            [
                fill("Username or Email Address", "warden"),
                fill("Password", "sunshine"),
                click("Log In", role="button"),
                see("incorrect"),
                fill("Password", WORD),
                click("Log In", role="button"),
                see("Dashboard"),
            ],
            lambda app: (app.sql("select count(*) from wp_usermeta where meta_key = 'session_tokens'", "wordpress"), [["1"]]),
            alone=True,
        ),
        Task(
            "write-post",
            "Publish a post named Spring tide with the paragraph `High water at noon.` in the block editor.",
            [
                {"go": "/wp-admin/post-new.php"},
                click("Close", optional=True),
                type_in("Add title", "Spring tide"),
                press("Enter"),
                type_in("Empty block", "High water at noon."),
                click("Publish", role="button"),
                see("Are you ready to publish?"),
                click("Publish", role="button", near="Cancel"),
                see("is now live"),
            ],
            lambda app: ([[status, "High water at noon." in text] for status, text in app.posts("Spring tide", "post_status, post_content")], [["publish", True]]),
        ),
        Task(
            "write-heading-and-list",
            "Save a draft named Packing with a heading Clothes and a list of two things: socks and gloves.",
            [
                {"go": "/wp-admin/post-new.php"},
                click("Close", optional=True),
                type_in("Add title", "Packing"),
                press("Enter"),
                type_in("Empty block", "## Clothes"),
                press("Enter"),
                type_in("Empty block", "- socks"),
                press("Enter"),
                {"keys": "gloves"},
                click("Save draft"),
                see("Saved"),
            ],
            lambda app: (
                [
                    [status, ">Clothes</h2>" in text, text.count("<li>"), "gloves" in text]
                    for status, text in app.posts("Packing", "post_status, post_content")
                ],
                [["draft", True, 2, True]],
            ),
        ),
        Task(
            "quick-edit",
            "Rename the post Plum cake to Plum tart with Quick Edit in the list of posts.",
            [
                {"go": "/wp-admin/edit.php"},
                hover("Plum cake", role="link"),
                click("Quick Edit", near="Plum cake"),
                fill("Title", "Plum tart", role="textbox"),
                click("Update", role="button"),
                see("Plum tart"),
            ],
            lambda app: ([app.posts("Plum tart"), app.posts("Plum cake")], [[["publish"]], []]),
        ),
        Task(
            "trash-post",
            "Move the post Old draft to the trash, from the list of posts.",
            [
                {"go": "/wp-admin/edit.php"},
                check("Select Old draft"),
                choose("Select bulk action", "Move to Trash"),
                click("Apply", role="button"),
                see("moved to the Trash"),
            ],
            lambda app: (app.posts("Old draft"), [["trash"]]),
        ),
        Task(
            "approve-comment",
            "Approve the comment of Greta and mark that of Spam King as spam.",
            [
                {"go": "/wp-admin/edit-comments.php"},
                hover("Which flour do you use?"),
                click("Approve", near="Which flour do you use?"),
                {"pause": 1},
                hover("Cheap watches here"),
                click("Spam", near="Cheap watches here", role="link"),
                {"pause": 1},
            ],
            lambda app: (
                app.sql("select comment_author, comment_approved from wp_comments where comment_author in ('Greta', 'Spam King') order by 1", "wordpress"),
                [["Greta", "1"], ["Spam King", "spam"]],
            ),
        ),
        Task(
            "add-category",
            "Add a category Breads below Recipes.",
            [
                {"go": "/wp-admin/edit-tags.php?taxonomy=category"},
                fill("Name", "Breads"),
                choose("Parent Category", "Recipes"),
                click("Add New Category", role="button"),
                see("Category added"),
            ],
            lambda app: (
                app.sql(
                    "select a.name, b.name from wp_terms a join wp_term_taxonomy t on t.term_id = a.term_id "
                    "join wp_terms b on b.term_id = t.parent where a.name = 'Breads'",
                    "wordpress",
                ),
                [["Breads", "Recipes"]],
            ),
        ),
        Task(
            "settings",
            "Set the tagline to `Ebb and flow`, the time zone to Lisbon and the week to begin on Sunday.",
            [
                {"go": "/wp-admin/options-general.php"},
                fill("Tagline", "Ebb and flow"),
                choose("Timezone", "Lisbon"),
                choose("Week Starts On", "Sunday"),
                click("Save Changes", role="button"),
                see("Settings saved"),
            ],
            lambda app: (app.option("blogdescription") + app.option("timezone_string") + app.option("start_of_week"), [["Ebb and flow"], ["Europe/Lisbon"], ["0"]]),
        ),
        Task(
            "chinese-user",
            "Add the user lihua with the first name 丽华, the last name 王 and the role Editor.",
            [
                {"go": "/wp-admin/user-new.php"},
                fill("Username", "lihua"),
                fill("Email", "lihua@example.com"),
                fill("First Name", "丽华"),
                fill("Last Name", "王"),
                choose("Role", "Editor"),
                click("Add New User", role="button"),
                see("New user created"),
            ],
            lambda app: (
                app.sql(
                    "select meta_value from wp_usermeta m join wp_users u on u.ID = m.user_id where user_login = 'lihua' "
                    "and meta_key in ('first_name', 'last_name') order by meta_key",
                    "wordpress",
                ),
                [["丽华"], ["王"]],
            ),
        ),
    ]
