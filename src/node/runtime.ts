// What a gateway finds on Node: fetch with a fence and with pinned addresses, clocks, keys, programs that are MCP servers.
import { createToolServers } from '../agents/mcp/tool-servers.ts'
import type { Runtime } from '../assemble.ts'
import type { Config } from '../config.ts'
import type { Log } from '../contract/index.ts'
import type { Failpoint } from '../db/client.ts'
import { createGroupCommit, defaultLimits } from '../inbound/group-commit.ts'
import { createFencedFetch, prepareFencedFetch } from './fenced-fetch.ts'
import { createPinnedFetch } from './guarded-fetch.ts'
import { createMcpConnect } from './mcp/connect.ts'
import { nodeHmac } from './node-hmac.ts'
import { type Probe, probeAfterFailedCommit } from './readiness.ts'
import { allowsLocalGuests } from './request-source.ts'
import { readSealKeys } from './seal-key.ts'

const secretNames = /token|secret|password|passphrase|credential|key|auth|dsn|database_url/i
/** Shorter ones occur by chance. */
const shortestSecret = 8

/** What the environment holds under names of secrets, and passwords in its URLs. */
export function secretValuesInEnvironment(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const named = Object.entries(env).flatMap(([name, value = '']) => (secretNames.test(name) ? [value] : []))
  const passwords = Object.values(env).flatMap((value = '') => [
    /^[\w+.-]+:\/\/[^\s/@:]*:([^\s/@]+)@/.exec(value)?.[1] ?? '',
  ])
  return [...new Set([...named, ...passwords].filter((value) => value.length >= shortestSecret))]
}

export type RuntimeOptions = { readonly config: Config; readonly log: Log; readonly failpoint?: Failpoint }

export async function createNodeRuntime({ config, log, failpoint }: RuntimeOptions, probe: Probe): Promise<Runtime> {
  const monotonicMs = (): number => performance.now()
  await prepareFencedFetch()
  return {
    fetch,
    fenceFetch: (mayLeave, onSend) => createFencedFetch(mayLeave, monotonicMs, onSend),
    guardedFetch: createPinnedFetch(),
    isLocalOnly: allowsLocalGuests(config),
    now: Date.now,
    monotonicMs,
    hmac: nodeHmac(),
    sealKeys: () => readSealKeys(config.sealKeys, config.dataDir),
    random: Math.random,
    createToolServers: (deps) => createToolServers({ ...deps, connect: createMcpConnect(deps.fetch) }),
    // After the sockets that are ready have been read.
    committer: (store) =>
      createGroupCommit(
        probeAfterFailedCommit(store, probe),
        defaultLimits,
        () => new Promise((resolve) => setImmediate(resolve)),
      ),
    log,
    secretValues: secretValuesInEnvironment(process.env),
    ...(failpoint === undefined ? {} : { failpoint }),
  }
}
