// Moderation: the operator's rules and blocks, and which actors they are about.

import type { Records } from '../../src/contract/index.ts'
import type { RemoteActor } from './wire/activity.ts'
import { blockFamilies, versionKey } from './wire/records.ts'

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
  return createPeerList(list).has(actor)
}

const machines: ReadonlySet<string> = new Set(['Service', 'Application'])

/** As its own server says. */
export const isAutomatedActor = ({ type }: Pick<RemoteActor, 'type'>): boolean => machines.has(type)

/**
 * Why a sender who wrote to an agent is not answered; undefined: they are. Also people whose profile says `#nobot`: they began it. Their words
 * are not read for other people (thread-ancestors.ts), and an agent never writes first.
 */
export function findBotNoReplyReason({ bots }: Pick<ModerationRules, 'bots'>, author: RemoteActor): string | undefined {
  const isWelcome = bots === 'all' || isPeerListed(bots, author.id)
  return isAutomatedActor(author) && !isWelcome ? 'from_bot' : undefined
}

// Block lists have tens of thousands of entries: hosts and actors are found without going through all of them. Pure.

export interface PeerList {
  /** Whether an address is listed, or its host, or a host above that. */
  has(iri: string): boolean
}

/** An entry is an actor's address, or a host, which stands for the hosts below it too. */
export function createPeerList(entries: Iterable<string>): PeerList {
  const listed = new Set(entries)
  return {
    has(iri) {
      if (listed.size === 0 || !URL.canParse(iri)) return false
      const { host, hostname } = new URL(iri)
      return listed.has(iri) || listed.has(host) || listParentDomains(hostname).some((each) => listed.has(each))
    },
  }
}

/** The host itself, and every host that it is below. */
function listParentDomains(hostname: string): readonly string[] {
  const labels = hostname.split('.')
  return labels.map((_, at) => labels.slice(at).join('.'))
}

// Blocks, by the settings or at run time, are checked at the inbox and before each delivery. What is known of them is half a
// minute old at most, so that asking costs nothing.

export interface Blocks {
  /** By the address of an actor or of an inbox. */
  turnsAway(iri: string): Promise<boolean>
}

export type BlocksDeps = {
  readonly records: Pick<Records, 'get' | 'list'>
  readonly now: () => number
  /** Those of the settings. */
  readonly listed: readonly string[]
}

const freshMs = 30_000
const pageSize = 1000
/** Kept while the gateway runs, beside those of the settings. */
export const maxBlocks = 100_000

type Known = { readonly list: PeerList; readonly version: string }

export function createBlockListCache(deps: BlocksDeps): Blocks {
  let known: Known | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<Known> | undefined
  const refreshBlocks = async (): Promise<Known> => {
    if (known !== undefined && deps.now() - readAt < freshMs) return known
    const before = known
    reading ??= loadBlocks(deps, before).finally(() => {
      reading = undefined
    })
    try {
      known = await reading
      readAt = deps.now()
      return known
    } catch (error) {
      // An actor that was blocked half a minute ago is still blocked.
      if (before === undefined) throw error
      return before
    }
  }
  return { turnsAway: async (iri) => (await refreshBlocks()).list.has(iri) }
}

/** The version first: what changes while the list is read makes it another one. */
async function loadBlocks({ records, listed }: BlocksDeps, before: Known | undefined): Promise<Known> {
  const version = String((await records.get(blockFamilies.version, versionKey))?.['version'] ?? '')
  if (before?.version === version) return before
  const entries: string[] = []
  for (let after: string | undefined; entries.length < maxBlocks; ) {
    const page = await records.list(blockFamilies.peer, { limit: pageSize, ...(after === undefined ? {} : { after }) })
    entries.push(...page.map(({ key }) => key))
    after = page.at(-1)?.key
    if (page.length < pageSize) break
  }
  return { list: createPeerList([...listed, ...entries]), version }
}

// Checked on every path: from their own server, through a community, or above a mention. A block wins.

/** By the actor's address. */
export type MayWrite = (actor: string) => Promise<boolean>

export function createWritePermission({ allow }: Pick<ModerationRules, 'allow'>, blocks: Blocks): MayWrite {
  return async (actor) => !(await blocks.turnsAway(actor)) && (allow.length === 0 || isPeerListed(allow, actor))
}
