def main(request, response):
    names = request.url_parts.query.split(",")
    lines = [f"{name}={(request.headers.get(name) or b'').decode('latin-1')}" for name in names]
    return [("Content-Type", "text/plain"), ("Cache-Control", "no-store")], "; ".join(lines)
