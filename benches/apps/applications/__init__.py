"""All applications of the benchmark by their names."""

from applications import adminer, django_admin, dokuwiki, jupyter, libraries, mediawiki, node_apps, phpmyadmin, python_sites, shaarli, wordpress

ALL = {
    "wordpress-new": wordpress.Fresh,
    "wordpress": wordpress.WordPress,
    "mediawiki-new": mediawiki.Fresh,
    "mediawiki": mediawiki.MediaWiki,
    "dokuwiki-new": dokuwiki.Fresh,
    "dokuwiki": dokuwiki.DokuWiki,
    "shaarli-new": shaarli.Fresh,
    "shaarli": shaarli.Shaarli,
    "adminer": adminer.Adminer,
    "phpmyadmin": phpmyadmin.PhpMyAdmin,
    "django-admin": django_admin.DjangoAdmin,
    "django-rest-framework": django_admin.RestFramework,
    "django-popup": django_admin.Portal,
    "flask-admin": python_sites.FlaskAdmin,
    "jupyterlab": jupyter.JupyterLab,
    "gradio": python_sites.Gradio,
    "streamlit": python_sites.Streamlit,
    "dash": python_sites.Dash,
    "swagger-ui": python_sites.SwaggerUi,
    "node-red": node_apps.NodeRed,
    "tiddlywiki": node_apps.TiddlyWiki,
} | libraries.ALL
