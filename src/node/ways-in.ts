// The ways in beside HTTP, together: connections that pull, and connections with a port of their own.
import type { Assembled } from '../assemble.ts'
import type { AppDeps } from '../http/deps.ts'
import type { ReadinessDeps } from '../vitals/readiness.ts'
import { createNodeListeners } from './listeners.ts'
import { createNodeSources } from './sources.ts'

export type WaysIn = {
  /** Resolves when every port was tried once. */
  readonly start: () => Promise<void>
  /** What their adapters want said at the start, by connection. */
  readonly notices: ReadonlyMap<string, string>
  readonly signs: Required<Pick<ReadinessDeps, 'sources' | 'listeners'>>
  readonly stop: () => Promise<void>
}

export function createWaysIn(assembled: Assembled, rejections: AppDeps['rejections']): WaysIn {
  const sources = createNodeSources(assembled)
  const listeners = createNodeListeners(assembled, rejections)
  return {
    start() {
      sources.start()
      return listeners.start()
    },
    notices: new Map(
      assembled.gateway.connections.flatMap(({ key, adapter: { notice } }) =>
        notice === undefined ? [] : [[key, notice] as const],
      ),
    ),
    signs: { sources: sources.signs, listeners: listeners.signs },
    async stop() {
      await Promise.all([sources.stop(), listeners.stop()])
    },
  }
}
