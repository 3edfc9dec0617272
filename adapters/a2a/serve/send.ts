// Sending a message and waiting for the task: until it rests, or no longer than a send may wait.
import { messageTo } from '../render/said.ts'
import { taskTo } from '../render/task.ts'
import { isFault } from '../wire/faults.ts'
import { readSend } from '../wire/requests.ts'
import { byOf, noSuchTask, type Operation, readOr, result } from './call.ts'
import { fillParts, fillSnapshot } from './stored-bytes.ts'
import { takeSend } from './take.ts'

export const sendMessage: Operation = async (deps, call, params) => {
  const request = readOr(readSend(params))
  if (isFault(request)) return request
  const taken = await takeSend(deps, call, request)
  if (isFault(taken)) return taken
  const { taskId, isNew } = taken
  const until = { timeoutMs: deps.settings.blockMs, isFresh: isNew }
  // A caller that disconnects stops waiting and nothing else: the run goes on.
  const snapshot = request.returnImmediately
    ? await deps.tasks.read(taskId, byOf(call))
    : await deps.tasks.settled(taskId, byOf(call), until, call.signal)
  if (snapshot === undefined) return noSuchTask()
  const { historyLength, acceptedOutputModes: accepted } = request
  const { task } = snapshot
  if (task.state === 'completed' && task.said?.direct === true) {
    const last = snapshot.messages.findLast((each) => each.role === 'agent')
    const messageId = last?.role === 'agent' ? last.runId : task.id
    const { taskId: _none, ...said } = messageTo(task.said, messageId, { taskId, contextId: task.contextId, accepted })
    return result({ message: said })
  }
  const shown = await fillSnapshot(fillParts(deps.files), snapshot)
  return result({ task: taskTo(shown, { historyLength, includeArtifacts: true, accepted }) })
}
