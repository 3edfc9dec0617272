// A TCP proxy before the database: lets traffic through, freezes it, or cuts it. Freezing is what a stuck server looks like.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type DatabaseProxy = {
  readonly url: string
  readonly freeze: () => void
  readonly thaw: () => void
  /** What is asked still arrives, and no answer comes back, until `restore`: commits whose outcome is not known. */
  readonly deafen: () => void
  /** Ends every connection and takes no new ones until `restore`. */
  readonly cut: () => void
  readonly restore: () => void
  readonly close: () => Promise<void>
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isFrozen = false
  let isCut = false
  let isDeaf = false
  const server = createServer((client) => {
    if (isCut) return void client.destroy()
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => {
        if (!isDeaf || from === client) to.write(chunk)
      })
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.on('error', () => from.destroy())
      if (isFrozen) from.pause()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const each = (act: (socket: Socket) => void): void => {
    for (const socket of sockets) act(socket)
  }
  return {
    url: url.href,
    freeze() {
      isFrozen = true
      each((socket) => socket.pause())
    },
    thaw() {
      isFrozen = false
      each((socket) => socket.resume())
    },
    deafen() {
      isDeaf = true
    },
    cut() {
      isCut = true
      each((socket) => socket.destroy())
    },
    restore() {
      isCut = false
      isDeaf = false
    },
    close() {
      each((socket) => socket.destroy())
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
