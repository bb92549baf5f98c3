const html = (body) => new Response(body, { headers: { "Content-Type": "text/html" } });
oninstall = () => skipWaiting();
onactivate = (event) => event.waitUntil(clients.claim());
onfetch = (event) => {
  const { pathname, search } = new URL(event.request.url);
  if (pathname.endsWith("/window-made-by-worker")) event.respondWith(html('<script>opener.postMessage("made", "*")</scr' + "ipt>"));
  else if (pathname.endsWith("made-by-worker") || pathname.endsWith("also-made")) event.respondWith(html("made"));
  else if (search === "?preload") event.respondWith(event.preloadResponse.then((found) => found ?? html("no preload")));
};
onmessage = (event) => event.ports[0].postMessage("answer");
