// A port that nobody listens on right now.
import { createServer } from 'node:net'

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const at = server.address()
      server.close(() => resolve(typeof at === 'object' && at !== null ? at.port : 0))
    })
  })
}
