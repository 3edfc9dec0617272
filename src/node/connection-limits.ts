// Limits of open connections, in all and per address. Connections without a whole request yet make room first: a caller who means
// it says it at once, so the oldest of them is the least likely to be one.
import type { Socket } from 'node:net'
import type { HttpLimits } from '../config/limits.ts'

export type ConnectionRefusal = 'connections_full' | 'address_full' | 'half_open' | 'pipelined'

export type ConnectionUse = { readonly open: number; readonly halfOpen: number; readonly idle: number }

export type ConnectionLimits = {
  /** A new one: it is let in, with an older one closed for it where that is needed, or it is closed. */
  readonly admit: (socket: Socket) => void
  /** A request began on it. False: there are too many on it at once, and it was closed. */
  readonly begin: (socket: Socket) => boolean
  /** A request on it is over. */
  readonly finish: (socket: Socket) => void
  readonly isBusy: (socket: Socket) => boolean
  /** Closes what has been half open for a while and is too much of it. Called about twice a second. */
  readonly sweep: () => void
  readonly use: () => ConnectionUse
}

/** Requests on one connection that are not answered yet. Nearly all clients wait for each answer. */
const maxPipelined = 16

/** So long a connection has to say something before it makes room: a busy process takes a while to hear what was said. */
const minAgeMs = 1_000

type Known = { readonly address: string | undefined; readonly openedAt: number; requests: number }

export function createConnectionLimits(
  limits: Pick<HttpLimits, 'maxConnections' | 'maxHalfOpen' | 'addressShare'>,
  onRefused: (reason: ConnectionRefusal) => void,
  now: () => number,
): ConnectionLimits {
  const known = new Map<Socket, Known>()
  const byAddress = new Map<string, number>()
  // In the order in which they came to be so.
  const halfOpen = new Set<Socket>()
  const idle = new Set<Socket>()
  const perAddress = Math.max(1, Math.floor(limits.maxConnections * limits.addressShare))

  const forgetSocket = (socket: Socket): void => {
    const entry = known.get(socket)
    if (entry === undefined) return
    known.delete(socket)
    halfOpen.delete(socket)
    idle.delete(socket)
    if (entry.address === undefined) return
    const left = (byAddress.get(entry.address) ?? 1) - 1
    if (left === 0) byAddress.delete(entry.address)
    else byAddress.set(entry.address, left)
  }
  const closeSocket = (socket: Socket, reason: ConnectionRefusal): void => {
    onRefused(reason)
    forgetSocket(socket)
    socket.destroy()
  }
  const closeOldestSocket = (from: Set<Socket>, reason: ConnectionRefusal, ageMs = minAgeMs): boolean => {
    const [oldest] = from
    if (oldest === undefined || now() - (known.get(oldest)?.openedAt ?? 0) < ageMs) return false
    closeSocket(oldest, reason)
    return true
  }
  return {
    admit(socket) {
      const address = clientAddressForLimit(socket.remoteAddress)
      if (address !== undefined && (byAddress.get(address) ?? 0) >= perAddress) {
        closeSocket(socket, 'address_full')
        return
      }
      const isFull = known.size >= limits.maxConnections
      const hasRoom =
        !isFull || closeOldestSocket(halfOpen, 'connections_full', 0) || closeOldestSocket(idle, 'connections_full', 0)
      if (!hasRoom) {
        closeSocket(socket, 'connections_full')
        return
      }
      if (halfOpen.size >= limits.maxHalfOpen) closeOldestSocket(halfOpen, 'half_open')
      known.set(socket, { address, openedAt: now(), requests: 0 })
      halfOpen.add(socket)
      if (address !== undefined) byAddress.set(address, (byAddress.get(address) ?? 0) + 1)
      socket.once('close', () => forgetSocket(socket))
    },
    begin(socket) {
      const entry = known.get(socket)
      if (entry === undefined) return !socket.destroyed
      halfOpen.delete(socket)
      idle.delete(socket)
      entry.requests += 1
      if (entry.requests <= maxPipelined) return true
      closeSocket(socket, 'pipelined')
      return false
    },
    finish(socket) {
      const entry = known.get(socket)
      if (entry === undefined) return
      entry.requests -= 1
      if (entry.requests === 0) idle.add(socket)
    },
    isBusy: (socket) => (known.get(socket)?.requests ?? 0) > 0,
    sweep() {
      while (halfOpen.size > limits.maxHalfOpen && closeOldestSocket(halfOpen, 'half_open')) {
        // Until there are few enough, or only young ones.
      }
    },
    use: () => ({ open: known.size, halfOpen: halfOpen.size, idle: idle.size }),
  }
}

const ownNetwork =
  /^(?:127\.|10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|::1$|f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:)/i

/**
 * What shares one address's part: an IPv4 address, or the /64 that one IPv6 customer has. Undefined on the own network: there it is
 * most often a proxy, and all who come through it would share one part.
 */
export function clientAddressForLimit(remote: string | undefined): string | undefined {
  if (remote === undefined) return undefined
  const address = remote.replace(/^::ffff:(?=\d)/i, '')
  if (ownNetwork.test(address)) return undefined
  return address.includes(':') ? ipv6Prefix(address) : address
}

/** The first four groups, written out. */
function ipv6Prefix(address: string): string {
  const [head = '', tail] = address.toLowerCase().split('%', 1)[0]?.split('::') ?? []
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length)
  return [...front, ...Array<string>(gap).fill('0'), ...back].slice(0, 4).join(':')
}
