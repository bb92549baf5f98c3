// Opens noVNC's page connected and scaled. Parameters of the address win over these. A ticket opens the WebSocket too.
{
  const query = new URLSearchParams(location.search);
  const defaults = { autoconnect: "true", resize: "scale" };
  if (query.has("ticket")) defaults.path = `websockify?ticket=${encodeURIComponent(query.get("ticket"))}`;
  for (const [name, value] of Object.entries(defaults)) if (!query.has(name)) query.set(name, value);
  history.replaceState(null, "", `?${query}${location.hash}`);
}
