// Every connection that this process begins, as it is asked for: before any name is looked up or any address reached.
import { Socket, type TcpSocketConnectOpts } from 'node:net'

export type Dials = {
  /** Hosts that were dialled at one of these ports, each once. */
  at(...ports: readonly number[]): readonly string[]
  stop(): void
}

export function watchDials(): Dials {
  const seen: Partial<TcpSocketConnectOpts>[] = []
  const connect = Socket.prototype.connect
  const watched = function (this: Socket, ...args: unknown[]) {
    const [first] = args
    // Node passes the arguments on to itself as a list.
    const options: unknown = Array.isArray(first) ? first[0] : first
    if (typeof options === 'object' && options !== null) seen.push(options)
    return Reflect.apply(connect, this, args)
  }
  Socket.prototype.connect = watched as typeof connect
  return {
    at: (...ports) => [
      ...new Set(seen.flatMap(({ host, port }) => (ports.includes(Number(port)) ? [host ?? 'localhost'] : []))),
    ],
    stop() {
      Socket.prototype.connect = connect
    },
  }
}
