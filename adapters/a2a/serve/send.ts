// Sending a message and waiting for the task: until it rests, or no longer than a send may wait.
import { renderMessage } from '../render/said.ts'
import { renderTask } from '../render/task.ts'
import { isA2aFault } from '../wire/faults.ts'
import { readSendRequest } from '../wire/requests.ts'
import { type Operation, resultOutcome, taskCaller, taskNotFound, valueOrFault } from './call.ts'
import { inlinePartFiles, inlineSnapshotFiles } from './stored-bytes.ts'
import { acceptSend } from './take.ts'

export const sendMessage: Operation = async (deps, call, params) => {
  const request = valueOrFault(readSendRequest(params))
  if (isA2aFault(request)) return request
  const taken = await acceptSend(deps, call, request)
  if (isA2aFault(taken)) return taken
  const { taskId, isNew } = taken
  const until = { timeoutMs: deps.settings.blockMs, isFresh: isNew }
  // A caller that disconnects stops waiting and nothing else: the run goes on.
  const snapshot = request.returnImmediately
    ? await deps.tasks.read(taskId, taskCaller(call))
    : await deps.tasks.settled(taskId, taskCaller(call), until, call.signal)
  if (snapshot === undefined) return taskNotFound()
  const { historyLength, acceptedOutputModes: accepted } = request
  const { task } = snapshot
  if (task.state === 'completed' && task.said?.direct === true) {
    const last = snapshot.messages.findLast((each) => each.role === 'agent')
    const messageId = last?.role === 'agent' ? last.runId : task.id
    const { taskId: _none, ...said } = renderMessage(task.said, messageId, {
      taskId,
      contextId: task.contextId,
      accepted,
    })
    return resultOutcome({ message: said })
  }
  const shown = await inlineSnapshotFiles(inlinePartFiles(deps.files), snapshot)
  return resultOutcome({ task: renderTask(shown, { historyLength, includeArtifacts: true, accepted }) })
}
