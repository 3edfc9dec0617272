// The people of the crash test `approval`: one asks in a chat, others decide over HTTP.

import type { Scene } from './crash-setup.ts'
import { delay, eventually } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { adminToken } from './subject-settings.ts'

export type Decided = { readonly status: number; readonly isDuplicate: boolean }

const patienceMs = 60_000

export function createApprovalDesk(scene: Scene) {
  const vendor = scene.vendor('shop')
  const texts = (conversation: string): readonly string[] =>
    vendor.messages.filter((message) => message.conversation === conversation).map((message) => message.text)
  const count = (conversation: string, text: string): number =>
    texts(conversation).filter((each) => each === text || each.startsWith(`${text}\n`)).length
  const isTold = (conversation: string, text: string): Promise<boolean> =>
    eventually(() => count(conversation, text) > 0, patienceMs)
  const send = (conversation: string, wish: 'hello' | `buy ${string}`) =>
    scene.platform.send({
      connection: 'shop',
      conversation,
      id: `${conversation}-${wish.replace(' ', '-')}`,
      from: 'ada',
      wish,
    })
  return {
    texts,
    count,
    isTold,
    effects: (conversation: string) =>
      scene.tool.effects.filter((effect) => effect.conversation === conversation).length,
    /** Asks for something and answers the id's end that the question names, once it has arrived. */
    async ask(conversation: string, kind: string): Promise<string> {
      await send(conversation, `buy ${kind}`)
      const code = (): string | undefined =>
        texts(conversation).flatMap((text) => /\/approve ([0-9a-f]{6})/.exec(text)?.[1] ?? [])[0]
      if (!(await eventually(() => code() !== undefined, patienceMs)))
        throw new Error(`${conversation} was never asked`)
      return code() ?? ''
    },
    async hears(conversation: string, wish: 'hello', answer: string): Promise<boolean> {
      await send(conversation, wish)
      return isTold(conversation, answer)
    },
    /** As an operator. Status 0: the gateway died over it. */
    async resolve(gateway: GatewayProcess, code: string, decision: 'accepted' | 'rejected'): Promise<Decided> {
      try {
        const actions = await call<{ actions: readonly { action_id: string }[] }>(gateway, 'GET', '?limit=500')
        const id = actions.body.actions.find((each) => each.action_id.endsWith(code))?.action_id ?? ''
        const { status, body } = await call<{ duplicate?: boolean }>(gateway, 'POST', `/${id}/resolve`, { decision })
        return { status, isDuplicate: body.duplicate === true }
      } catch {
        await delay(10)
        return { status: 0, isDuplicate: false }
      }
    },
    async pending(gateway: GatewayProcess): Promise<number> {
      const { body } = await call<{ summary: { pending: number } }>(gateway, 'GET', '/summary')
      return body.summary.pending
    },
  }
}

async function call<T>(gateway: GatewayProcess, method: string, path: string, body?: object) {
  const response = await fetch(`${gateway.url}/admin/approvals${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  })
  // The routes' own shapes; a wrong one shows in the checks that read it.
  return { status: response.status, body: (await response.json()) as T }
}
