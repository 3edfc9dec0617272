// What waits for a person or for a tool elsewhere, from the command line.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHome, type Home, type Running, until } from './parley.ts'

type Actions = { readonly actions: readonly { action_id: string; summary: string }[] }
type Requests = { readonly requests: readonly { id: string; tool_name: string }[] }

let home: Home
let gateway: Running
const told = (text: string) => until(60_000, () => home.telegram.sent.find((sent) => String(sent.text).includes(text)))

beforeAll(async () => {
  home = await createHome({})
  gateway = await home.start()
}, 120_000)
afterAll(() => home.close(), 60_000)

test('approvals: listed, shown, accepted once; what was decided stays', async () => {
  await gateway.say('ask me')
  await told('/approve')
  const { actions } = (await home.json(['approvals', 'list'])) as Actions
  expect(actions).toMatchObject([{ summary: 'order tea' }])
  const id = actions[0]?.action_id ?? ''
  expect((await home.parley(['approvals', 'show', id])).stdout).toMatch(/^status +pending$/m)
  expect(await home.parley(['approvals', 'accept', id])).toMatchObject({ code: 0, stdout: 'accepted: order tea\n' })
  await told('woken: approval accepted')
  expect((await home.parley(['approvals', 'accept', id])).stdout).toContain('decided before')
  const late = await home.parley(['approvals', 'reject', id])
  expect(late).toMatchObject({ code: 3, stdout: '' })
  expect(late.stderr).toContain('already decided')
  expect((await home.parley(['approvals', 'list'])).stdout).toBe('Nothing there.\n')
  expect((await home.parley(['approvals', 'delete', '0192f1c2-7d5e-7abc-8def-0123456789ab'])).code).toBe(3)
}, 180_000)

test('tool requests: listed, shown with their parameters, answered once', async () => {
  await gateway.say('look there')
  await told('looking')
  const { requests } = (await home.json(['tool-requests', 'list'])) as Requests
  expect(requests).toMatchObject([{ tool_name: 'client/look' }])
  const id = requests[0]?.id ?? ''
  expect((await home.parley(['tool-requests', 'show', id])).stdout).toMatch(/^parameters +\{"at":1\}$/m)
  expect((await home.parley(['tool-requests', 'submit', id])).code).toBe(2)
  expect((await home.parley(['tool-requests', 'submit', id, '--result', '{'])).code).toBe(2)
  expect(await home.parley(['tool-requests', 'submit', id, '--result', '{"seen":true}'])).toMatchObject({ code: 0 })
  await told('woken: runtime_tool runtime_tool_completed')
  expect((await home.parley(['tool-requests', 'cancel', id])).stdout).toContain('over before')
}, 180_000)
