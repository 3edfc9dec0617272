// The operator's moderation rules for this channel, and which actors a rule is about. Pure.
import type { RemoteActor } from '../wire/actor.ts'
import { peerList } from './peer-list.ts'

export type ModerationRules = {
  /** Hosts and actors that may write at all; empty: all of them. */
  readonly allow: readonly string[]
  /** Machines that may talk to our agents; `all`: every one. */
  readonly bots: readonly string[] | 'all'
  /** Whether an account that asks may follow an agent. */
  readonly follow: 'accept' | 'manual' | 'reject'
}

/** An entry is an actor's address, or a host, which stands for the hosts below it too. */
export function isPeerListed(list: readonly string[], actor: string): boolean {
  return peerList(list).has(actor)
}

const machines: ReadonlySet<string> = new Set(['Service', 'Application'])

/** As its own server says. */
export const isMachine = ({ type }: Pick<RemoteActor, 'type'>): boolean => machines.has(type)

/**
 * Why a sender who wrote to an agent is not answered; undefined: they are. Also people whose profile says `#nobot`: they began it. Their words
 * are not read for other people (around.ts), and an agent never writes first.
 */
export function reasonForSilence({ bots }: Pick<ModerationRules, 'bots'>, author: RemoteActor): string | undefined {
  const isWelcome = bots === 'all' || isPeerListed(bots, author.id)
  return isMachine(author) && !isWelcome ? 'from_bot' : undefined
}
