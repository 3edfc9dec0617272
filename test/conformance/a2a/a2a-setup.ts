// What the A2A cases share: one gateway that is served in several ways, and a runner that asks over both bindings.
import { afterAll, beforeAll, describe, test } from 'vitest'
import { a2a } from '../../../adapters/a2a/index.ts'
import type { Database } from '../../../src/db/client.ts'
import { createObedientAgent, type ObedientAgent } from '../../doubles/a2a-agent.ts'
import { type A2aPeer, type Binding, type Body, bindings, startA2a } from '../../doubles/a2a-peer.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

export const requiredExtension = 'urn:a2a:tck:required-extension'
const skill = { id: 'books', name: 'Books', description: 'Keeps the books.', tags: ['books'] }

/** Connections by their path: each differs from the plain one in what its cases are about. */
const connections = [
  a2a(),
  a2a({ id: 'bare', path: '/bare', streaming: false, push: false }),
  a2a({ id: 'strict', path: '/strict', protocolVersions: ['1.0'] }),
  a2a({ id: 'early', path: '/early', errorTable: '1.0.0', push: false }),
  a2a({ id: 'picky', path: '/picky', inputModes: ['text/plain'], outputModes: ['text/plain'] }),
  a2a({ id: 'needy', path: '/needy', requiredExtensions: [{ uri: requiredExtension }] }),
  a2a({ id: 'extended', path: '/extended', anonymous: true, extendedCard: { skills: [skill] } }),
  a2a({ id: 'unset', path: '/unset', extendedCard: true }),
  a2a({ id: 'open', path: '/open', anonymous: true }),
  a2a({ id: 'direct', path: '/direct', directMessages: true }),
  a2a({ id: 'hasty', path: '/hasty', blockMs: 150, heartbeatMs: 40, streamMs: 700, maxBodyBytes: 4096 }),
  a2a({ id: 'near', path: '/near', push: { allow: ['127.0.0.1', 'http://hooks.internal:9'] } }),
]

export type Scene = A2aPeer & {
  readonly database: Database
  readonly lean: ObedientAgent
  readonly main: ObedientAgent
}

export type A2aCase = {
  readonly id: string
  readonly claim: string
  /** Asked once, because no binding is part of it. */
  readonly isOnce?: true
  readonly run: (scene: Scene, binding: Binding) => Promise<void>
}

export function conformA2a(title: string, cases: readonly A2aCase[]): void {
  const declare = (database: () => Database): void => {
    let scene: Scene
    beforeAll(() => {
      const [main, lean] = [createObedientAgent('demo'), createObedientAgent('lean')]
      const peer = startA2a(database(), { agents: [main.agent, lean.agent], connections })
      scene = Object.assign(peer, { main, lean, database: database() })
    })
    afterAll(async () => {
      scene.main.release()
      scene.lean.release()
      await scene.stop()
    })
    for (const { id, claim, isOnce, run } of cases) {
      const over = isOnce === true ? (['JSONRPC'] as const) : bindings
      describe(`${id}: ${claim}`, () => {
        for (const binding of over) test(isOnce === true ? 'holds' : `holds over ${binding}`, () => run(scene, binding))
      })
    }
  }
  describeOnDatabase(title, declare, 'all')
}

/** Sends a text and gives back the task, or the message, that came of it. */
export async function sent(
  scene: Scene,
  binding: Binding,
  message: Body,
  how: Parameters<Scene['call']>[3] & { readonly configuration?: Body } = {},
): Promise<Body> {
  const { configuration, ...asking } = how
  const params = { message, ...(configuration === undefined ? {} : { configuration }) }
  const answer = await scene.call(binding, 'SendMessage', params, asking)
  if (answer.result === undefined) throw new Error(`refused: ${JSON.stringify(answer.body)}`)
  return answer.result.task ?? answer.result.message
}

/** The code of a refusal, and the fields it names. */
export async function refused(
  scene: Scene,
  binding: Binding,
  method: string,
  params: Body,
  how: Parameters<Scene['call']>[3] = {},
): Promise<{ readonly code: number; readonly fields: readonly string[]; readonly status: number }> {
  const { error, status, body } = await scene.call(binding, method, params, how)
  if (error === undefined) throw new Error(`not refused: ${JSON.stringify(body)}`)
  return { code: error.code, fields: error.fields, status }
}
