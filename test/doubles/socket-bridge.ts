// The socket of a data folder at an address of its own: what fetch can call as the local user, since it knows no sockets.
import { type AddressInfo, connect, createServer } from 'node:net'
import { type SocketKind, socketPathFor } from '../../src/node/data-dir.ts'

export type SocketBridge = { readonly url: string; readonly close: () => void }

/** `control` where the gateway is on a database server, `lock` where it brings its own. */
export async function bridgeToSocket(dataDir: string, kind: SocketKind): Promise<SocketBridge> {
  const path = await socketPathFor(dataDir, kind)
  const open = new Set<{ destroy: () => void }>()
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ path, allowHalfOpen: true })
    open.add(near).add(far)
    near.pipe(far).pipe(near)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      for (const each of open) each.destroy()
    },
  }
}
