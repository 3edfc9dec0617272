// Others on real servers of this machine, asked the way the channel asks them, at a clock of the test's.
import { createRemoteLookup, type RemoteLookup } from '../../../../../adapters/activitypub/actors/remote-lookup.ts'
import { type Fediverse, startFediverse } from '../../../../doubles/fediverse.ts'
import { memoryNotes } from '../../../../doubles/memory-ttl-store.ts'

const hosts = ['social.example.com', 'evil.example.com', 'handle.example.com', 'private.example.com'] as const

export type RemoteScene = {
  readonly net: Fediverse
  readonly remote: RemoteLookup
  /** Another process with the same store. */
  readonly replica: RemoteLookup
  readonly social: string
  readonly evil: string
  /** Moves the clock. */
  pass(ms: number): void
  readonly signed: string[]
  stop(): Promise<void>
}

export async function openRemoteScene(limits: { readonly timeoutMs?: number } = {}): Promise<RemoteScene> {
  const net = await startFediverse()
  let nowMs = Date.parse('2026-11-17T12:00:00Z')
  const now = (): number => nowMs
  const signed: string[] = []
  const deps = {
    guardedFetch: net.guardedFetch,
    ttlStore: memoryNotes(now),
    now,
    origins: net.origins(...hosts),
    userAgent: 'Parley (test)',
    async signGet(url: string) {
      signed.push(url)
      return { signature: 'by-our-instance' }
    },
    ...limits,
  }
  return {
    net,
    remote: createRemoteLookup(deps),
    replica: createRemoteLookup(deps),
    social: net.origin(hosts[0]),
    evil: net.origin(hosts[1]),
    pass(ms) {
      nowMs += ms
    },
    signed,
    stop: net.stop,
  }
}
