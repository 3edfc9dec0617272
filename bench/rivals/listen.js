// One way to listen for all rivals, on this machine only.
import { createServer } from 'node:http'

export async function listen(handler) {
  const server = createServer(handler)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { port: server.address().port, stop }
}
