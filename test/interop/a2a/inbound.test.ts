// The SDK's own client beside our server (OU-01): both versions, both bindings, every operation, and its check of our signatures.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type A2aPeer, type Body, startA2a } from '../../doubles/a2a-peer.ts'
import { until } from '../../doubles/background-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { describeBeside, importPeer, provePeer } from '../peer.ts'

type Sdk = { readonly client: Body; readonly types: Body }

const imported = await importPeer<Sdk>('@a2a-js/sdk', async (importHere) => ({
  client: await importHere('@a2a-js/sdk/client'),
  types: await importHere('@a2a-js/sdk'),
}))
const sdk = await provePeer('the client of @a2a-js/sdk', imported, ({ client, types }) => {
  const json = { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }
  const again = types.SendMessageRequest.toJSON(types.SendMessageRequest.fromJSON(json))
  if (again.message.parts[0].text !== 'hello') throw new Error('it does not read a message')
  return new client.JsonRpcTransportFactory({ fetchImpl: fetch })
})

let count = 0

describeBeside('the SDK’s client', sdk, (loaded) => {
  describeOnDatabase(
    'asks ours',
    (database) => {
      let peer: A2aPeer
      beforeAll(() => {
        peer = startA2a(database())
      })
      afterAll(() => peer.stop())

      describe.each([
        ['1.0', 'JSONRPC'],
        ['1.0', 'HTTP+JSON'],
        ['0.3', 'JSONRPC'],
        ['0.3', 'HTTP+JSON'],
      ])('version %s over %s', (version, binding) => {
        const request = (text: string, more: Body = {}): Body => {
          count += 1
          const message = { messageId: `sdk-${count}`, role: 'ROLE_USER', parts: [{ text }], ...more.message }
          return loaded().types.SendMessageRequest.fromJSON({ message, ...more.request })
        }
        const client = async (): Promise<Body> => {
          const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = loaded().client
          const fetchImpl = async (input: Body, init: Body): Promise<Response> =>
            peer.app.request(new Request(input, init))
          const options = { fetchImpl, legacyCompat: { enabled: true } }
          const transports = [new JsonRpcTransportFactory(options), new RestTransportFactory(options)]
          const card = await (await peer.request('/a2a/demo/.well-known/agent-card.json')).json()
          const supportedInterfaces = card.supportedInterfaces.filter(
            (each: Body) => each.protocolVersion === version && each.protocolBinding === binding,
          )
          expect(supportedInterfaces).toHaveLength(1)
          const agentCard = loaded().types.AgentCard.fromJSON({ ...card, supportedInterfaces })
          return new ClientFactory({ transports }).createFromAgentCard(agentCard)
        }
        const shown = (type: string, value: Body): Body => loaded().types[type].toJSON(value)

        test('sends and is answered with a task, which it gets again', async () => {
          const asking = await client()
          const task = shown('Task', await asking.sendMessage(request('hello')))
          expect(task).toMatchObject({
            status: { state: 'TASK_STATE_COMPLETED' },
            artifacts: [{ parts: [{ text: 'demo heard: hello (0 before)' }] }],
          })
          expect(shown('Task', await asking.getTask({ id: task.id }))).toMatchObject({
            id: task.id,
            status: task.status,
          })
        })

        test('streams from the task to its end, and subscribes to one that works', async () => {
          const asking = await client()
          const kinds: string[] = []
          for await (const event of asking.sendMessageStream(request('say one two')))
            kinds.push(Object.keys(shown('StreamResponse', event))[0] ?? '')
          expect([kinds[0], kinds.at(-1), kinds.includes('artifactUpdate')]).toEqual(['task', 'statusUpdate', true])
          const returnImmediately = { request: { configuration: { returnImmediately: true } } }
          const waiting = shown('Task', await asking.sendMessage(request('wait', returnImmediately)))
          await until(() => peer.obedient.running() === 1)
          const seen: string[] = []
          for await (const event of asking.resubscribeTask({ id: waiting.id })) {
            const frame = shown('StreamResponse', event)
            seen.push(Object.keys(frame)[0] ?? '')
            if (seen.length === 1) peer.obedient.release()
          }
          expect([seen[0], seen.at(-1)]).toEqual(['task', 'statusUpdate'])
        })

        test('goes on with a task that asks, and cancels another', async () => {
          const asking = await client()
          const asked = shown('Task', await asking.sendMessage(request('ask')))
          expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
          const more = request('blue', { message: { taskId: asked.id, contextId: asked.contextId } })
          expect(shown('Task', await asking.sendMessage(more)).status.state).toBe('TASK_STATE_COMPLETED')
          const other = shown('Task', await asking.sendMessage(request('ask')))
          expect(shown('Task', await asking.cancelTask({ id: other.id })).status.state).toBe('TASK_STATE_CANCELED')
        })

        test('keeps, reads, lists and deletes where it wants to be told', async () => {
          const asking = await client()
          const { id: taskId } = shown('Task', await asking.sendMessage(request('hello')))
          const config = loaded().types.TaskPushNotificationConfig.fromJSON({
            taskId,
            id: 'c1',
            url: 'https://hooks.example/a',
          })
          const url = { url: 'https://hooks.example/a' }
          expect(await asking.createTaskPushNotificationConfig(config)).toMatchObject(url)
          expect(await asking.getTaskPushNotificationConfig({ taskId, id: 'c1' })).toMatchObject(url)
          expect((await asking.listTaskPushNotificationConfig({ taskId })).configs).toHaveLength(1)
          await asking.deleteTaskPushNotificationConfig({ taskId, id: 'c1' })
          expect((await asking.listTaskPushNotificationConfig({ taskId })).configs).toHaveLength(0)
        })

        test('understands what is refused', async () => {
          const asking = await client()
          await expect(asking.getTask({ id: 'none' })).rejects.toThrow(/not found/i)
        })
      })

      test('lists its tasks', async () => {
        const { ClientFactory } = loaded().client
        const { JsonRpcTransportFactory } = loaded().client
        const fetchImpl = async (input: Body, init: Body): Promise<Response> =>
          peer.app.request(new Request(input, init))
        const card = await (await peer.request('/a2a/demo/.well-known/agent-card.json')).json()
        const transports = [new JsonRpcTransportFactory({ fetchImpl })]
        const asking = await new ClientFactory({ transports }).createFromAgentCard(
          loaded().types.AgentCard.fromJSON(card),
        )
        const page = await asking.listTasks(loaded().types.ListTasksRequest.fromJSON({ pageSize: 2 }))
        expect(page.tasks).toHaveLength(2)
        expect(page.nextPageToken).not.toBe('')
      })
    },
    'all',
  )
})
