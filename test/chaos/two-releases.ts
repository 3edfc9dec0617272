// Two releases on one database: who took which message in, and who must not have touched what the other one wrote.

import type { Scene } from './crash-setup.ts'
import { delay } from './crash-test.ts'
import type { GatewayProcess, Release } from './gateway-process.ts'
import { keyOf, type Update } from './platform.ts'

/** The elder cannot read what the junior writes; the junior reads both. */
export type Pair = { readonly elder: Release; readonly junior: Release }

const maxTries = 100

export type Intake = {
  /** Delivers to this gateway until it acknowledges. */
  readonly tell: (gateway: GatewayProcess, update: Update) => Promise<void>
  /** Keys of the messages that processes with these pids stored. */
  readonly storedBy: (pids: ReadonlySet<number>) => ReadonlySet<string>
}

export function createIntake(scene: Scene): Intake {
  const storedBy = new Map<string, number>()
  return {
    async tell(gateway, update) {
      for (let tries = 0; tries < maxTries; tries += 1) {
        const told = await scene.platform.post(update, gateway.url)
        // A duplicate was stored by a try whose answer went missing: by whom is not known for sure.
        if (told === 'accepted') storedBy.set(keyOf(update), gateway.pid)
        if (told !== undefined) return
        await delay(100)
      }
      throw new Error(`${keyOf(update)} was never acknowledged`)
    },
    storedBy: (pids) => new Set([...storedBy].filter(([, pid]) => pids.has(pid)).map(([key]) => key)),
  }
}

export type Trespass = {
  /** Messages the junior stored and the elder ran. */
  readonly turns: readonly string[]
  /** Replies the junior wrote and the elder sent. */
  readonly calls: readonly string[]
}

/** Judged at the tool and at the vendor: every effect and every call names the process it came from. */
export function trespasses(scene: Scene, ofJunior: ReadonlySet<string>, elders: ReadonlySet<number>): Trespass {
  const runBy = new Map(scene.tool.effects.map((effect) => [keyOf(effect), effect.pid]))
  const turns = scene.tool.effects.filter((effect) => elders.has(effect.pid) && ofJunior.has(keyOf(effect))).map(keyOf)
  const calls: string[] = []
  for (const [connection, vendor] of scene.vendors) {
    for (const { headers, body } of vendor.calls) {
      const ids = repliedTo(body).map((id) => keyOf({ connection, id }))
      const isOfJunior = ids.some((key) => !elders.has(runBy.get(key) ?? 0))
      if (elders.has(Number(headers['x-crash-test-pid'])) && isOfJunior) calls.push(...ids)
    }
  }
  return { turns, calls }
}

function repliedTo(body: unknown): readonly string[] {
  const text = typeof body === 'object' && body !== null && 'text' in body ? String(body.text) : ''
  const words = text.split(' ')
  return words[0] === 'saw' ? words.slice(1) : []
}
