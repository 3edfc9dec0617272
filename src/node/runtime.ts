// The Node runtime for the gateway: fetch with a fence and with pinned addresses, clocks, keys, HMAC, programs that are MCP
// servers.

import { hash } from 'node:crypto'
import { createToolServers } from '../agents/mcp/tool-servers.ts'
import type { Config } from '../config.ts'
import type { Hmac } from '../contract/channel.ts'
import type { Failpoint } from '../db/client.ts'
import type { Runtime } from '../gateway/assemble.ts'
import { createGroupCommit, defaultLimits } from '../inbound/group-commit.ts'
import { LruMap } from '../lib/index.ts'
import type { Log } from '../lib/log.ts'
import { createFencedFetch, prepareFencedFetch } from './fenced-fetch.ts'
import { readSealKeys } from './gateway-secrets.ts'
import { createPinnedFetch } from './guarded-fetch.ts'
import { allowsLocalGuests } from './incoming-request.ts'
import { createMcpConnect } from './mcp-client.ts'
import type { Probe } from './readiness.ts'

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
    committer: (accept) =>
      createGroupCommit(
        accept,
        defaultLimits,
        // After the sockets that are ready have been read.
        () => new Promise((resolve) => setImmediate(resolve)),
        // A commit that failed is looked into at once, also while readiness is not asked for.
        () => void probe().catch(() => {}),
      ),
    log,
    secretValues: secretValuesInEnvironment(process.env),
    ...(failpoint === undefined ? {} : { failpoint }),
  }
}

// HMAC is computed at once: WebCrypto would hand each body to another thread, which costs more than the sum. Of two plain hashes
// (RFC 2104), because making a native HMAC object for each body costs more than hashing it.

const blockBytes = 64
const digestBytes = 32
// Secrets come from the configuration, so a handful; the bound only guards against a caller that invents them.
const maxKeys = 64

export function nodeHmac(): Hmac {
  const known = new LruMap<string, HmacPads>(maxKeys)
  return {
    sha256(secret, bytes) {
      let pads = known.get(secret)
      if (pads === undefined) {
        pads = createHmacPads(Buffer.from(secret))
        known.set(secret, pads)
      }
      const inner = hash('sha256', Buffer.concat([pads.inner, bytes]), 'buffer')
      return hash('sha256', Buffer.concat([pads.outer, inner]), 'buffer')
    },
  }
}

type HmacPads = { readonly inner: Uint8Array; readonly outer: Uint8Array }

function createHmacPads(secret: Uint8Array): HmacPads {
  const key = new Uint8Array(blockBytes)
  key.set(secret.length > blockBytes ? hash('sha256', secret, 'buffer').subarray(0, digestBytes) : secret)
  return { inner: key.map((byte) => byte ^ 0x36), outer: key.map((byte) => byte ^ 0x5c) }
}
