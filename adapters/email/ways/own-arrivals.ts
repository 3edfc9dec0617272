// Which requests this process brought in itself: over its listener, its mailbox, or the runtime. Known by the identity of their
// bytes, so nothing that a request can contain, header or body, makes it one of them.
import type { RawArrival } from '../../../src/contract/index.ts'
import { arrivalOf, type ReceivedMail } from '../wire/mail.ts'
import { tooLarge } from './hooks/hop.ts'

/** What an ingress knows of a mail it brought in: the mail, or why it will never be taken. */
export type OwnMail =
  | { readonly kind: 'mail'; readonly mail: ReceivedMail }
  | { readonly kind: 'turned_away'; readonly reason: string; readonly remedy: string }

export type OwnArrivals = {
  readonly add: (mail: ReceivedMail) => RawArrival
  /** Only the head of it was fetched: the rest is more than we take. */
  readonly addTooLarge: (mail: ReceivedMail) => RawArrival
  readonly find: (arrival: RawArrival) => OwnMail | undefined
}

export function createOwnArrivals(): OwnArrivals {
  const own = new WeakMap<Uint8Array, OwnMail>()
  const keep = (mail: ReceivedMail, known: OwnMail): RawArrival => {
    own.set(mail.raw, known)
    const isHere = mail.way === 'smtp' && isLoopback(mail.envelope.clientIp)
    return { ...arrivalOf(mail), from: isHere ? 'guest' : 'remote' }
  }
  return {
    add: (mail) => keep(mail, { kind: 'mail', mail }),
    addTooLarge: (mail) => keep(mail, tooLarge),
    find: ({ bytes }) => own.get(bytes),
  }
}

function isLoopback(ip: string | undefined): boolean {
  return ip !== undefined && (ip === '::1' || /^127(?:\.\d{1,3}){3}$/.test(ip))
}
