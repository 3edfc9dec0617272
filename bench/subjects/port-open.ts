// Ports of channels are opened after the gateway is up.
import { connect } from 'node:net'

const waitMs = 20_000

export async function portOpen(port: number): Promise<void> {
  const until = performance.now() + waitMs
  while (!(await isOpen(port))) {
    if (performance.now() > until) throw new Error(`nobody listens on port ${port} after ${waitMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
