// DNS by Node's own resolver. Loaded when it is first used: Workers have none (doh-lookup.ts).
import { importOnNode } from '../../../src/contract/index.ts'
import type { Answer, DnsRecord, Lookup, RecordType } from './lookup.ts'

type TimedAddress = { readonly address: string; readonly ttl: number }
type NodeResolver = {
  resolve: (name: string, type: RecordType) => Promise<readonly DnsRecord[]>
  resolve4: (name: string, options: { readonly ttl: true }) => Promise<readonly TimedAddress[]>
  resolve6: (name: string, options: { readonly ttl: true }) => Promise<readonly TimedAddress[]>
  setServers: (servers: readonly string[]) => void
}
type NodeDns = { readonly Resolver: new (options: { timeout: number; tries: number }) => NodeResolver }

/** Node tells the lifetime of addresses only. */
const usualTtlMs = 300_000

export function nodeLookup(servers?: readonly string[]): Lookup {
  let resolver: Promise<NodeResolver> | undefined
  return async (name, type) => {
    resolver ??= createNodeResolver(servers)
    try {
      return await lookUpRecords(await resolver, name, type)
    } catch (error) {
      return dnsFailureAnswer(error)
    }
  }
}

async function createNodeResolver(servers: readonly string[] | undefined): Promise<NodeResolver> {
  const { Resolver } = await importOnNode<NodeDns>('node:dns/promises')
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  return resolver
}

async function lookUpRecords(resolver: NodeResolver, name: string, type: RecordType): Promise<Answer> {
  if (type !== 'A' && type !== 'AAAA') {
    return { kind: 'records', records: await resolver.resolve(name, type), ttlMs: usualTtlMs }
  }
  const found = await (type === 'A' ? resolver.resolve4(name, { ttl: true }) : resolver.resolve6(name, { ttl: true }))
  const ttlMs = Math.min(...found.map(({ ttl }) => ttl)) * 1000
  return { kind: 'records', records: found.map(({ address }) => address), ttlMs }
}

function dnsFailureAnswer(error: unknown): Answer {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'EFAILED'
  if (code === 'ENODATA') return { kind: 'none', isNameKnown: true, ttlMs: 0 }
  if (code === 'ENOTFOUND' || code === 'EBADNAME') return { kind: 'none', isNameKnown: false, ttlMs: 0 }
  return { kind: 'temporary', reason: code }
}
