// Starts the SDK's server and asks it what it was asked.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Peer, provePeer } from '../peer.ts'
import { endPeer, portOf } from '../peer-process.ts'

export type SdkPeer = {
  readonly url: string
  readonly told: () => Promise<Told>
  readonly stop: () => Promise<void>
}

export type Told = {
  readonly asked: readonly {
    readonly taskId: string
    readonly contextId: string
    readonly messageId: string
    readonly text: string
    readonly isFollowUp: boolean
    readonly metadata: unknown
  }[]
  readonly cancelled: readonly string[]
  /** Tasks that it shows to others by now. */
  readonly published: readonly string[]
  readonly heard: readonly {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
  }[]
}

const program = fileURLToPath(new URL('./sdk-server.mjs', import.meta.url))
const installed = fileURLToPath(new URL('../node_modules/@a2a-js/sdk', import.meta.url))

/** Its server has shown the card of its agent. */
export async function findSdk(): Promise<Peer<(...args: readonly string[]) => Promise<SdkPeer>>> {
  const problem = process.env['PARLEY_INTEROP_PROBLEM']
  if (problem !== undefined) return { problem: `@a2a-js/sdk: ${problem}` }
  if (!existsSync(installed)) return { problem: '@a2a-js/sdk is not installed; npm run test:all does it' }
  return provePeer('the server of @a2a-js/sdk', { module: startSdkPeer }, async (start) => {
    const peer = await start('rpc/1.0')
    try {
      const card = (await (await fetch(`${peer.url}/.well-known/agent-card.json`)).json()) as { readonly name?: string }
      if (card.name !== 'Peer') throw new Error('it shows no card')
    } finally {
      await peer.stop()
    }
  })
}

async function startSdkPeer(...args: readonly string[]): Promise<SdkPeer> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const url = `http://127.0.0.1:${await portOf(child)}`
  return {
    url,
    told: async () => (await (await fetch(`${url}/asked`)).json()) as Told,
    stop: () => endPeer(child),
  }
}
