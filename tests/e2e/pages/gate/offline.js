oninstall = () => skipWaiting();
onfetch = (event) => {
  if (event.request.mode !== "navigate") return;
  const headers = { "Content-Type": "text/html" };
  event.respondWith(new Response("<!doctype html><title>Kept</title><h1>Text that the worker kept</h1>", { headers }));
};
