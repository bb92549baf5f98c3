// Opens noVNC's page connected and scaled. Parameters of the address win over these. A ticket opens the WebSocket too, and a
// session chooses its page.
{
  const query = new URLSearchParams(location.search);
  const defaults = { autoconnect: "true", resize: "scale" };
  const screen = new URLSearchParams();
  for (const name of ["ticket", "session"]) if (query.has(name)) screen.set(name, query.get(name));
  if (screen.size > 0) defaults.path = `websockify?${screen}`;
  for (const [name, value] of Object.entries(defaults)) if (!query.has(name)) query.set(name, value);
  history.replaceState(null, "", `?${query}${location.hash}`);
}
