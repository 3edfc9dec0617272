// Sends a message to an agent: every check that needs no store first, then the task and the context it names, then the commit.
//
// The same messageId again is the same message, whatever it says: accept keys it by its id alone (`isOnceById`), so that of two
// copies, in whatever order and in however many replicas, one is stored and both learn its task. Only then is what was asked
// compared with what is stored there, and another body is refused. Comparing before the commit would leave a gap for two first
// sends at once; flagging after it would have let the second one run.
import { type Task, type TaskSnapshot, textOf } from '../../../src/contract/index.ts'
import { canonicalJson, cleanText } from '../../../src/lib/index.ts'
import {
  readCallChain,
  type SendFacts,
  sendRequestToMessage,
  takeGatewayMetadata,
  taskReferencePart,
} from '../normalize.ts'
import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import type { A2aMessage, A2aPart } from '../protocol/objects.ts'
import { readSendRequest, type SendRequest } from '../protocol/requests.ts'
import { checkPushEnabled, checkPushUrl, savePushConfig } from '../push.ts'
import { renderMessage, renderTask } from '../render.ts'
import { doMediaTypesOverlap, isMediaTypeAccepted } from '../verify.ts'
import {
  type A2aDeps,
  type A2aRequest,
  invalidParamsFault,
  type Operation,
  pickCallerSubject,
  readOwnTask,
  taskNotFoundFault,
  toResultOutcome,
  valueOrFault,
} from './call.ts'
import { createPartFileInliner, inlineSnapshotFiles } from './inline-files.ts'

export type AcceptedSend = {
  readonly taskId: string
  readonly message: A2aMessage
  /** Stored by this very request. */
  readonly isNew: boolean
  /** The task that it began. */
  readonly began: Task | undefined
  /** The task it goes on with, as it stood right before. */
  readonly before: TaskSnapshot | undefined
}

const maxReferences = 8

export async function acceptSentMessage(
  deps: A2aDeps,
  call: A2aRequest,
  request: SendRequest,
): Promise<AcceptedSend | Fault> {
  const refusal = checkSendRequest(deps, request)
  if (refusal !== undefined) return refusal
  const facts = await resolveSendRequest(deps, call, request)
  if (isA2aFault(facts)) return facts
  const [acceptance] = await call.context.accept([sendRequestToMessage(facts, deps.connection)])
  if (acceptance === undefined || acceptance.kind === 'refused')
    return refusalToFault(acceptance?.kind === 'refused' ? acceptance.reason : '')
  const known = acceptance.kind === 'accepted' ? acceptance.taskId : undefined
  const taskId = known ?? (await deps.tasks.ofMessage(acceptance.inboxId))
  // Stored as something that could not be read: there is no task for it, and the same would come of it again.
  if (taskId === undefined)
    return invalidParamsFault([{ field: 'message', description: 'could not be taken as a message' }])
  const { message, before } = facts
  const isNew = acceptance.kind === 'accepted'
  if (!isNew) {
    const stored = await deps.tasks.read(taskId, pickCallerSubject(call))
    if (stored !== undefined && isDifferentMessage(deps, stored.messages, message)) return reusedMessageIdFault()
  }
  const { push } = request
  // After the commit, and again with every copy: a caller that got no answer sends again. A receiver without a
  // name goes by that of its message, so that a copy makes no second one.
  const saved =
    push === undefined ? undefined : await savePushConfig(deps, call, { id: message.messageId, ...push, taskId }, true)
  if (saved !== undefined && isA2aFault(saved)) return saved
  return { taskId, message, isNew, before, began: acceptance.kind === 'accepted' ? acceptance.task : undefined }
}

/** What was stored under the id of this message says something else. */
function isDifferentMessage(
  { settings }: Pick<A2aDeps, 'settings'>,
  stored: TaskSnapshot['messages'],
  message: A2aMessage,
): boolean {
  if (settings.messageIds === 'loose') return false
  const same = stored.find((each) => each.role === 'user' && each.payload['messageId'] === message.messageId)
  return same?.role === 'user' && canonicalJson(same.payload) !== canonicalJson(message)
}

function reusedMessageIdFault(): Fault {
  const description = 'was used for another message before; give every message an id of its own'
  return invalidParamsFault([{ field: 'message.messageId', description }])
}

function checkSendRequest(deps: A2aDeps, { message, acceptedOutputModes, push }: SendRequest): Fault | undefined {
  const { inputModes, outputModes } = deps.settings
  if (push !== undefined) {
    const off = checkPushEnabled(deps) ?? checkPushUrl(deps, push.url, 'configuration.taskPushNotificationConfig.')
    if (off !== undefined) return off
  }
  const foreign = message.parts.findIndex((part) => !isMediaTypeAccepted(partMediaType(part), inputModes))
  if (foreign !== -1)
    return createFault(
      'content_type_not_supported',
      `message.parts[${foreign}] is of a type that this agent does not take`,
      {
        metadata: { supportedTypes: inputModes.join(', ') },
      },
    )
  if (acceptedOutputModes.length > 0 && !doMediaTypesOverlap(acceptedOutputModes, outputModes))
    return createFault('content_type_not_supported', 'this agent answers in none of the accepted output modes', {
      metadata: { supportedTypes: outputModes.join(', ') },
    })
  return undefined
}

function partMediaType({ text, data, mediaType }: A2aPart): string {
  if (mediaType !== undefined) return mediaType
  if (text !== undefined) return 'text/plain'
  return data !== undefined ? 'application/json' : 'application/octet-stream'
}

type Facts = SendFacts & { readonly before: TaskSnapshot | undefined }

async function resolveSendRequest(deps: A2aDeps, call: A2aRequest, request: SendRequest): Promise<Facts | Fault> {
  const { caller, dialect, agent, named } = call
  const { message: cleaned, forwarded, relay, chain: claimed, inReplyTo } = takeGatewayMetadata(request)
  const message = cleanAllTexts(cleaned)
  if (caller.chain.kind === 'unreadable')
    return invalidParamsFault([{ field: 'headers', description: caller.chain.remedy }])
  const chain = readCallChain(claimed, caller.chain.agentChain)
  if (!chain.ok)
    return invalidParamsFault([{ field: 'message.metadata.mentionable.agent_chain', description: chain.problem }])
  const place = await resolveTask(deps, call, message)
  if (isA2aFault(place)) return place
  const isAnonymous = caller.kind === 'anonymous'
  const references = await readReferencedTasks(deps, call, message.referenceTaskIds ?? [])
  const [about] = place.before === undefined ? references : [place.before]
  return {
    message,
    caller,
    dialect,
    forwarded,
    relay,
    chain: chain.chain,
    before: place.before,
    // A task goes on with the agent it began with, whichever agent the text names.
    agent: place.before?.task.agent ?? agent,
    isNamed: named !== undefined || place.before !== undefined,
    contextId: place.contextId,
    semanticId: sendDedupeId(deps, call, message.messageId),
    isContextOwn: !isAnonymous || isUnguessableId(place.contextId),
    ...(message.taskId === undefined ? {} : { known: message.taskId }),
    references: references.map(({ task, outputs }) =>
      taskReferencePart(task.id, task.state, textOf(outputs.flatMap(({ parts }) => [...parts]))),
    ),
    inReplyTo: inReplyTo ?? lastAgentRunId(about),
    receivedAt: call.context.receivedAt,
  }
}

/** What makes it this message, beside who sent it. */
function sendDedupeId({ settings, newId }: A2aDeps, { caller }: A2aRequest, messageId: string): string {
  // Two callers may both call their first message "1": only an id that cannot be guessed tells that it is the same one.
  const isTelling = caller.kind !== 'anonymous' || isUnguessableId(messageId)
  return settings.messageIds === 'unique' && isTelling ? messageId : `${messageId}#${newId()}`
}

type Placed = { readonly contextId: string; readonly before: TaskSnapshot | undefined }

/** The task it goes on with must be the caller's and of that context; a context of another caller's is refused. */
async function resolveTask(
  deps: A2aDeps,
  call: A2aRequest,
  { taskId, contextId }: A2aMessage,
): Promise<Placed | Fault> {
  if (taskId !== undefined) {
    const before = await readOwnTask(deps, call, taskId)
    if (isA2aFault(before)) return before
    if (contextId === undefined || contextId === before.task.contextId)
      return { contextId: before.task.contextId, before }
    return invalidParamsFault([{ field: 'message.contextId', description: 'is not the context of that task' }])
  }
  if (contextId === undefined) return { contextId: deps.newId(), before: undefined }
  const isForeign = await deps.tasks.isForeignContext(call.agent, contextId, pickCallerSubject(call))
  return isForeign ? taskNotFoundFault() : { contextId, before: undefined }
}

/** Tasks of other callers are silently left out, so that a caller does not learn which exist. */
async function readReferencedTasks(
  deps: A2aDeps,
  call: A2aRequest,
  ids: readonly string[],
): Promise<readonly TaskSnapshot[]> {
  const found = await Promise.all(ids.slice(0, maxReferences).map((id) => readOwnTask(deps, call, id)))
  return found.flatMap((each) => (isA2aFault(each) ? [] : [each]))
}

/** What its owner was shown last, by its id: the result is an artifact, anything else the message in the status. */
function lastAgentRunId(about: TaskSnapshot | undefined): string | undefined {
  const result = about?.outputs.at(-1)?.runId
  const asked = about?.messages.findLast((each) => each.role === 'agent')
  const question = asked?.role === 'agent' ? asked.runId : undefined
  return about?.task.state === 'completed' ? (result ?? question) : (question ?? result)
}

function refusalToFault(reason: string): Fault {
  if (reason === 'task_unknown') return taskNotFoundFault()
  if (reason === 'task_over')
    return createFault('unsupported_operation', 'the task is over; send a message without taskId to begin another')
  if (reason === 'id_taken') return reusedMessageIdFault()
  if (reason === 'too_many_messages')
    return createFault('unavailable', 'too many messages at once; try again in a minute')
  if (reason.startsWith('SU_'))
    return invalidParamsFault([
      { field: 'message.parts', description: `refer to a file that is not yours to send (${reason})` },
    ])
  return createFault('forbidden', 'the message was refused')
}

/** As the database can hold it, so that the same message is the same text when it comes again. */
function cleanAllTexts<T>(value: T): T {
  const cleanTextsRecursively = (given: unknown): unknown => {
    if (typeof given === 'string') return cleanText(given)
    if (Array.isArray(given)) return given.map(cleanTextsRecursively)
    if (typeof given !== 'object' || given === null) return given
    return Object.fromEntries(
      Object.entries(given).map(([name, item]) => [cleanText(name), cleanTextsRecursively(item)]),
    )
  }
  // The same shape, with its texts cleaned.
  return cleanTextsRecursively(value) as T
}

// Ids cannot be guessed: a caller that shows one must have been told it.

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Long and mixed enough that no other caller has thought of it. */
export function isUnguessableId(id: string): boolean {
  if (uuid.test(id)) return new Set(id).size > 6
  return id.length >= 22 && new Set(id).size >= 10
}

// A send waits for the task until it rests, or no longer than a send may wait.

export const sendMessage: Operation = async (deps, call, params) => {
  const request = valueOrFault(readSendRequest(params))
  if (isA2aFault(request)) return request
  const taken = await acceptSentMessage(deps, call, request)
  if (isA2aFault(taken)) return taken
  const { taskId, isNew } = taken
  const until = { timeoutMs: deps.settings.blockMs, isFresh: isNew }
  // A caller that disconnects stops waiting and nothing else: the run goes on.
  const snapshot = request.returnImmediately
    ? await deps.tasks.read(taskId, pickCallerSubject(call))
    : await deps.tasks.settled(taskId, pickCallerSubject(call), until, call.signal)
  if (snapshot === undefined) return taskNotFoundFault()
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
    return toResultOutcome({ message: said })
  }
  const shown = await inlineSnapshotFiles(createPartFileInliner(deps.files), snapshot)
  return toResultOutcome({ task: renderTask(shown, { historyLength, includeArtifacts: true, accepted }) })
}
