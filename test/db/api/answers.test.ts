// Answers of the API are what their schemas promise, to the last key: every list and item that a gateway at work can show.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { type AnyOperation, type Resource, servedOperations } from '../../../src/api/resource.ts'
import { resourceTable } from '../../../src/api/resources.ts'
import { startApi } from '../../doubles/api.ts'
import { anAction, aRequest, pauseTurn } from '../../doubles/paused-turn.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const table: Readonly<Record<string, Resource>> = resourceTable
const served = Object.values(table).flatMap(servedOperations)

/** Unknown keys are a failure: what is answered and not promised is a promise that is missing. */
function misfits({ output }: AnyOperation, answer: unknown): string {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  const schema = z.toJSONSchema(output, { io: 'output', unrepresentable: 'any' })
  return ajv.validate(schema, answer)
    ? ''
    : JSON.stringify(ajv.errors?.map(({ instancePath, params }) => [instancePath, params]))
}

describeOnDatabase('the answers of the API', (database) => {
  test('hold what their schemas promise, and nothing else', async () => {
    await pauseTurn(database(), { actions: [anAction(), anAction()], requests: [aRequest(), aRequest()] })
    const api = startApi(database())
    const called = new Set<string>()
    const ask = async (id: string, input: Readonly<Record<string, string>> = {}, body?: object) => {
      const operation = served.find((each) => each.id === id)
      if (operation === undefined) throw new Error(`${id} is not in the table`)
      const path = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(input[name] ?? ''))
      const query = input['query'] === undefined ? '' : `?${input['query']}`
      const sent = body ?? (operation.method === 'post' ? {} : undefined)
      const answer = await api.operate(operation.method.toUpperCase(), `${path}${query}`, sent)
      expect([id, answer.status, answer.status === 200 ? misfits(operation, answer.body) : answer.body]).toEqual([
        id,
        200,
        '',
      ])
      called.add(id)
      return answer.body
    }
    expect((await api.run('r1', { isHere: true })).status).toBe(200)
    for (const id of ['getStats', 'listAgents', 'listDeadLetters', 'listRefused', 'listIgnored', 'listPairings'])
      await ask(id)
    await ask('listDeliveries', { query: 'state=delivered,cancelled,queued' })
    const { runs } = await ask('listRuns')
    await ask('getRun', { id: runs[0].id })
    await ask('followRun', { id: runs[0].id })
    await ask('cancelAnyRun', { id: runs[0].id })
    await ask('stopAnyRun', { id: runs[0].id })
    const { sessions } = await ask('anyListSessions')
    await ask('anyGetSession', { id: sessions[0].id })
    await ask('anyTitleSession', { id: sessions[0].id }, { title: 'Hours' })
    const { actions } = await ask('anyListApprovals')
    await ask('anyCountApprovals')
    await ask('anyGetApproval', { id: actions[0].action_id })
    await ask('anyResolveApproval', { id: actions[0].action_id }, { decision: 'rejected' })
    await ask('anyDeleteApproval', { id: actions[1].action_id })
    const { requests } = await ask('anyListToolRequests')
    await ask('anyGetToolRequest', { id: requests[0].id })
    await ask('anySubmitToolResult', { id: requests[0].id }, { result: 1 })
    await ask('anyCancelToolRequest', { id: requests[1].id })
    await ask('anyDeleteToolRequest', { id: requests[1].id })
    const { grant } = await ask('addGrant', {}, { subject: 'test:ada', role: 'viewer' })
    await ask('listGrants')
    await ask('revokeGrant', { id: grant.id })
    await ask('linkPrincipals', {}, { subject: 'test:eve', principal: 'test:ada' })
    await ask('listLinks')
    await ask('listPrincipals')
    await ask('unlinkPrincipal', {}, { subject: 'test:eve' })
    const { id: token } = await ask('createToken', {}, { label: 'x', expiresInMs: 60_000 })
    await ask('listTokens')
    await ask('revokeToken', { id: token })
    const { lines } = await ask('readAuditLog')
    expect(lines.length).toBeGreaterThan(3)
    await ask('listRejected')
    await ask('listAttachments')
    await ask('rotateFileKey')
    const inbox = lines.find((line: { inboxId: string | null }) => line.inboxId !== null)
    await ask('explainMessage', { id: inbox.inboxId })
    await ask('replayMessage', { id: inbox.inboxId, query: 'fixture=cleaned' })
    await ask('retryDeliveries', {}, { state: 'dead', since: '2026-01-31T08:00:00Z' })
    await ask('anyDeleteSession', { id: sessions[0].id })
    await ask('erasePerson', {}, { principal: 'test:ada', dryRun: true })
    await ask('erasePerson', {}, { principal: 'test:ada', confirm: true })
    expect(called.size).toBeGreaterThan(40)
    await api.stop()
  })
})
