// SMTP connections and their limits: who is connected, how often each address comes, and how much it sends. They guard this one
// process, so they are kept in its memory.

import type { SMTPServer } from 'smtp-server'
import { LruMap } from '../../../src/lib/index.ts'
import type { ByteBudget } from './collect-data.ts'
import { type Reply, replies } from './replies.ts'
import type { SmtpLimits } from './settings.ts'

export type SmtpClients = {
  /** False: too many of them. */
  readonly enter: (session: string, address: string) => boolean
  readonly leave: (session: string) => void
  /** False: more mails in a minute than one address may send. */
  readonly maySend: (address: string) => boolean
  /** How many recipients of this session were refused, with this one. */
  readonly refused: (session: string) => number
  /** Room for a mail of this session: a share of `room` for each address. */
  readonly roomFor: (session: string, room: ByteBudget) => ByteBudget
  /** The largest mail that is taken from this address now. */
  readonly maxBytes: (address: string, usual: number) => number
  /** A mail of this address was received whole, and nothing proved who sent it. */
  readonly unproven: (address: string, bytes: number) => void
}

type Session = { readonly network: string; refused: number }

type Count = { at: number; mails: number }
type UnprovenBytes = { at: number; bytes: number }

const minuteMs = 60_000
const hourMs = 3_600_000
/** More addresses than this within a minute start a new count: an attacker with that many is not stopped by counting. */
const maxAddresses = 10_000

export function createSmtpClients(limits: SmtpLimits, now: () => number): SmtpClients {
  const sessions = new Map<string, Session>()
  const open = new Map<string, number>()
  const sent = new LruMap<string, Count>(maxAddresses)
  const held = new Map<string, number>()
  const unproven = new LruMap<string, UnprovenBytes>(maxAddresses)
  return {
    enter(session, address) {
      const network = clientNetwork(address)
      const already = open.get(network) ?? 0
      if (already >= limits.clientsPerAddress) return false
      open.set(network, already + 1)
      sessions.set(session, { network, refused: 0 })
      return true
    },
    leave(session) {
      const known = sessions.get(session)
      if (known === undefined) return
      const { network } = known
      sessions.delete(session)
      const left = (open.get(network) ?? 1) - 1
      if (left > 0) open.set(network, left)
      else open.delete(network)
    },
    maySend(address) {
      const network = clientNetwork(address)
      const known = sent.get(network)
      if (known === undefined || now() - known.at >= minuteMs) {
        sent.set(network, { at: now(), mails: 1 })
        return true
      }
      known.mails += 1
      return known.mails <= limits.mailsPerMinute
    },
    refused(session) {
      const known = sessions.get(session)
      if (known === undefined) return 0
      known.refused += 1
      return known.refused
    },
    roomFor(session, room) {
      const network = sessions.get(session)?.network ?? session
      const changeHeld = (bytes: number): void => {
        const now = (held.get(network) ?? 0) + bytes
        if (now > 0) held.set(network, now)
        else held.delete(network)
      }
      return {
        take(bytes) {
          if ((held.get(network) ?? 0) + bytes > limits.heldBytesPerAddress || !room.take(bytes)) return false
          changeHeld(bytes)
          return true
        },
        give(bytes) {
          room.give(bytes)
          changeHeld(-bytes)
        },
      }
    },
    maxBytes(address, usual) {
      const known = unproven.get(clientNetwork(address))
      const isOver = known !== undefined && now() - known.at < hourMs && known.bytes > limits.unprovenBytesPerHour
      return isOver ? Math.min(usual, limits.smallBytes) : usual
    },
    unproven(address, bytes) {
      const network = clientNetwork(address)
      const known = unproven.get(network)
      if (known !== undefined && now() - known.at < hourMs) known.bytes += bytes
      else unproven.set(network, { at: now(), bytes })
    },
  }
}

/** A client with one IPv6 address has 2^64 of them. */
function clientNetwork(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return [...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}

// Open connections are kept so that one can be closed: the library gives its listeners a session and no connection.

export type SmtpConnections = {
  readonly attach: (server: SMTPServer) => void
  readonly begin: (session: string, sessionMs: number) => void
  readonly end: (session: string) => void
  readonly hangUp: (session: string, reply: Reply) => void
  /** In the middle of a mail: left alone when we stop. */
  readonly busy: Set<string>
  readonly stop: () => void
  /** A mail is over; when we stop, so is its connection. */
  readonly free: (session: string) => void
}

export function createSmtpConnections(): SmtpConnections {
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  const busy = new Set<string>()
  let server: SMTPServer | undefined
  let isStopping = false
  const hangUpConnection: SmtpConnections['hangUp'] = (session, { code, text }) => {
    const line = [...(server?.connections ?? [])].find((each) => each.id === session)
    line?.send(code, text)
    line?.close()
  }
  return {
    attach: (attached) => (server = attached),
    begin: (session, sessionMs) =>
      timers.set(
        session,
        setTimeout(() => hangUpConnection(session, replies.tooLong), sessionMs),
      ),
    end(session) {
      clearTimeout(timers.get(session))
      timers.delete(session)
      busy.delete(session)
    },
    hangUp: hangUpConnection,
    busy,
    stop() {
      isStopping = true
      for (const { id } of server?.connections ?? []) if (!busy.has(id)) hangUpConnection(id, replies.stopping)
    },
    free(session) {
      busy.delete(session)
      // Once its answer is written.
      if (isStopping) setTimeout(() => hangUpConnection(session, replies.stopping), 0)
    },
  }
}
