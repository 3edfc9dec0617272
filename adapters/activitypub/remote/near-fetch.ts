// The guarded fetch, and beside it the machine's own addresses that the operator wrote down for tests: no others, and no names, since
// a name leads wherever a resolver says.
import type { SafeFetch } from '../../../src/contract/index.ts'
import { createUnpinnedFetch } from '../../../src/lib/index.ts'

export type LoopbackFetchDeps = { readonly guardedFetch: SafeFetch; readonly fetch: typeof fetch }

const ownAddress = /^(?:127\.0\.0\.1|\[::1\])$/

export function createLoopbackFetch({ guardedFetch, fetch }: LoopbackFetchDeps, origins: readonly string[]): SafeFetch {
  const near = new Set(origins.filter((origin) => ownAddress.test(new URL(origin).hostname)))
  if (near.size === 0) return guardedFetch
  const written = createUnpinnedFetch(fetch)
  return {
    pins: guardedFetch.pins,
    fetch(url, options = {}) {
      const origin = URL.canParse(url) ? new URL(url).origin : ''
      return near.has(origin) ? written.fetch(url, { ...options, origins: [origin] }) : guardedFetch.fetch(url, options)
    },
  }
}
