// A line to a server on this machine that is cut once, after so many bytes of what the server says.
import { connect, createServer } from 'node:net'

export type CutLine = AsyncDisposable & { readonly port: number; readonly cuts: () => number }

export async function cutLine(to: number, afterBytes: number): Promise<CutLine> {
  let cuts = 0
  const open = new Set<() => void>()
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    const end = (): void => {
      near.destroy()
      far.destroy()
    }
    open.add(end)
    let heard = 0
    near.on('data', (chunk) => far.write(chunk))
    far.on('data', (chunk) => {
      heard += chunk.byteLength
      if (cuts > 0 || heard <= afterBytes) return void near.write(chunk)
      cuts += 1
      // Some of it has arrived by then.
      near.write(chunk.subarray(0, 1000), end)
    })
    for (const socket of [near, far]) socket.on('close', end).on('error', end)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    cuts: () => cuts,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const end of open) end()
      await closed
    },
  }
}
