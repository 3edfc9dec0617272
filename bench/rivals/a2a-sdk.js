// The server of the JavaScript SDK on Express as its documentation shows it, with its store in memory: the executor answers at once.
// What it remembers is gone with the process.
import { Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'

const statusOf = (state) => ({ state, timestamp: new Date().toISOString() })

export async function start({ path }) {
  let handled = 0
  const executor = {
    async execute({ taskId, contextId, userMessage }, bus) {
      const history = [Message.toJSON(userMessage)]
      const status = statusOf('TASK_STATE_WORKING')
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status, history, artifacts: [] })))
      const artifact = { artifactId: taskId, parts: [{ text: 'seen' }] }
      const update = { taskId, contextId, artifact, lastChunk: true }
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)))
      const end = { taskId, contextId, status: statusOf('TASK_STATE_COMPLETED') }
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(end)))
      bus.finished()
      handled += 1
    },
    async cancelTask() {},
  }
  const card = {
    name: 'Bench',
    description: 'Answers at once.',
    version: '1',
    supportedInterfaces: [{ url: `http://127.0.0.1${path}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    skills: [],
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    securityRequirements: [],
    signatures: [],
    securitySchemes: {},
  }
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  const app = express()
  app.use(path, jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  const server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { port: server.address().port, stop, handled: () => handled }
}
