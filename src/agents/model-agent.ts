// An agent that is a model with tools: what a developer declares, and the run that comes of it.

import type { Envelope } from '../contract/gateway-events.ts'
import type { AgentReply, NormalizedMessage } from '../contract/index.ts'
import type { ErrorSource } from '../lib/errors.ts'
import { asFields } from '../lib/index.ts'
import type { Fields, Json } from '../lib/json-value.ts'
import { compactTranscript, fillCompactionPolicyDefaults, type Summarizer } from './compaction.ts'
import type { AgentContext, Signal, SignalContext } from './context.ts'
import type { ConversationResult } from './loop/conversation-result.ts'
import { combineEmitWithWatcher } from './loop/events.ts'
import { readStopCause, steeredType } from './loop/interrupts.ts'
import type { AnsweredTurn, LoopOptions, ResumePoint } from './loop/options.ts'
import { conversationRequest } from './loop/request.ts'
import { runLoop } from './loop/run-loop.ts'
import type { McpServer } from './mcp/mcp-server.ts'
import type { ModelAgentOptions } from './model-agent-options.ts'
import {
  type CarriedData,
  clientDataEnvelopes,
  isGroupConversation,
  listTranscriptBefore,
  omitClientState,
  utteranceToEnvelope,
} from './model-view.ts'
import { aiSdkModel } from './models/ai-sdk.ts'
import {
  addRetries,
  createModelBreaker,
  createModelWithFallbacks,
  modelName,
  type NamedModel,
  type RetryPolicy,
} from './models/failover.ts'
import type { LanguageModel, Model } from './models/model.ts'
import { pictureReferences } from './models/model-messages.ts'
import {
  nameSpeakers,
  needsSpeakerNames,
  removeSpeakerMark,
  removeSpeakerMarkInJson,
  type Speakers,
  wrapModelWithSpeakerNames,
} from './models/speaker-names.ts'
import { compileOutputSchema, wrapModelWithStructuredOutput } from './models/structured-output.ts'
import {
  buildResumedRunStart,
  createPausedCallStaging,
  type Suspended,
  serializeSuspendedRun,
  settlePauseWithResult,
} from './paused-run.ts'
import { runResultToReply } from './reply.ts'
import {
  buildClientToolReport,
  buildToolContext,
  createRunTools,
  gatherRunTools,
  type RunTools,
  type RunToolset,
  sharedBudgetOptions,
} from './run-tools.ts'
import { createCompletionGate } from './tools/call-gate.ts'
import { createRepeatedCallGuard, createRepeatedFailureGuard } from './tools/call-guards.ts'
import type { AnsweredCall } from './tools/tool-runner.ts'

/** What a run begins with: what was heard, or what a paused run had waited for. */
type Start = {
  readonly lines: readonly Envelope[]
  readonly isRoom: boolean
  /** How many of the lines the transcript holds already, or gets with the turn itself. */
  readonly known: number
  readonly facts: Fields
  readonly sender: Suspended['sender']
  /** Tools the caller offers to run itself, as it declared them. */
  readonly clientTools: readonly unknown[]
  /** What its program sent along. */
  readonly carried?: CarriedData | undefined
  readonly resumed?: { readonly from: ResumePoint; readonly answered: AnsweredCall }
}

export type ModelRun = {
  readonly run: (message: NormalizedMessage, context: AgentContext) => Promise<AgentReply>
  readonly onSignal: (signal: Signal, context: SignalContext) => Promise<AgentReply>
}

type NamedOptions = ModelAgentOptions & { readonly slug: string }

export function createModelRun(options: NamedOptions, servers: readonly McpServer[]): ModelRun {
  const { onEvent } = options
  const form = options.output === undefined ? undefined : compileOutputSchema(options.slug, options.output)
  const models = listNamedModels(options)
  const breaker = createModelBreaker(() => performance.now())
  const runConversation = async (equipped: RunToolset, start: Start, context: SignalContext): Promise<AgentReply> => {
    const observe = combineEmitWithWatcher(context.emit, onEvent, context.report)
    const emitProviderRetry: RetryPolicy['onRetry'] = (facts) => observe('provider_retry', facts)
    const reportModelFailure: RetryPolicy['onFailure'] = (error) => context.report(error, { source: 'model' })
    const speakers = createSpeakerMarkSource(start, context)
    const patient = models.map(({ name, model }, place) => {
      const policy = {
        ...options.modelRetries,
        onRetry: emitProviderRetry,
        onFailure: reportModelFailure,
        hasFallback: place < models.length - 1,
      }
      return { name, model: addRetries(wrapModelWithSpeakerNames(model, speakers), policy) }
    })
    const model = createModelWithFallbacks(patient, breaker, (change) => observe('model_switched', change))
    let point: ResumePoint | undefined
    const buildResumeState = () => () => (point === undefined ? {} : serializeSuspendedRun(point, start))
    // A form takes no tools, also none that a caller offers.
    const staging = createPausedCallStaging(equipped.tools, context, buildResumeState)
    const tools = form
      ? undefined
      : createRunTools(equipped, start, context, { ...staging, ...answeredCallOfResume(start) })
    const report = buildClientToolReport(start.clientTools, tools)
    if (report !== undefined) context.reportClientTools(report)
    const request = modelRunRequest(options, start, tools)
    const result = await runLoop(request.messages, {
      model: form === undefined ? model : wrapModelWithStructuredOutput(model, form),
      keepTurn: journalModelTurns(context, form === undefined ? context.show : undefined),
      runId: context.runId,
      sessionId: context.sessionId,
      maxTurns: request.max_turns,
      ...declaredLoopOptions(options, speakers, context.report),
      onException: (error) => context.report(error),
      ...toolLoopOptions(tools),
      ...sharedBudgetOptions(context, equipped),
      ...systemPromptOption(options, context),
      context: request.runtime_context,
      ...(start.resumed === undefined ? {} : { resumeFrom: start.resumed.from }),
      onPause: (at) => {
        point = at
      },
      // Half a document is nothing to show.
      ...(form === undefined ? { onDelta: context.show } : { structuredOutput: form.request }),
      observers: [observe],
      runControl: createSignalRunControl(context.stop),
      interruptSource: context.hear,
      signal: context.signal,
      monotonicMs: () => performance.now(),
    })
    context.record(newTranscriptLines(result, start.known))
    context.finish(result)
    settlePauseWithResult(start.resumed?.answered, result, context)
    return runResultToReply(result, { cause: readStopCause(context.stop), form: context.commandForm })
  }
  return {
    async run(message, context) {
      const { sender, channel } = message
      const carried = omitClientState(context.client)
      const beside = await clientDataEnvelopes(options, carried, context)
      const lines = [...listTranscriptBefore(options, sender, context), ...beside, messageToEnvelope(options, message)]
      const facts = buildToolContext(message, context)
      const given = { known: lines.length, facts, sender, clientTools: channel?.client_tools ?? [], carried }
      const start = { lines, isRoom: isGroupConversation(channel?.room_kind), ...given }
      return runConversation(await gatherRunTools(options, servers, context), start, context)
    },
    // Other signals say nothing to a model.
    async onSignal({ pause }, context) {
      if (pause === undefined) return undefined
      const equipped = await gatherRunTools(options, servers, context)
      const { lines, known, ...start } = buildResumedRunStart(equipped, pause, context)
      const room = asFields(start.facts['client_context'])['room_kind']
      const beside = await clientDataEnvelopes(options, start.carried, context)
      const given = { lines: [...beside, ...lines], known: known + beside.length }
      return runConversation(equipped, { ...start, ...given, isRoom: isGroupConversation(room) }, context)
    },
  }
}

/** What the turn is about, with its pictures where the model takes them. */
function messageToEnvelope({ files }: ModelAgentOptions, { sender, parts }: NormalizedMessage): Envelope {
  const spoken = utteranceToEnvelope({ role: 'user', sender, parts })
  return files === true ? { ...spoken, payload: pictureReferences(parts) } : spoken
}

/** Asked for in rooms only, and once in a run. */
function createSpeakerMarkSource({ isRoom }: Start, { speakerMark }: SignalContext): Speakers {
  let mark: Promise<string> | undefined
  return {
    isRoom,
    mark: () => {
      mark ??= speakerMark()
      return mark
    },
  }
}

/** What it was told by its developer, and of its place in a chain of agents. */
function systemPromptOption(
  { instructions }: ModelAgentOptions,
  { agents }: SignalContext,
): Pick<LoopOptions, 'system'> {
  const system = [instructions, agents.cue].filter((text) => text !== undefined).join('\n\n')
  return system === '' ? {} : { system }
}

function modelRunRequest({ maxTurns }: ModelAgentOptions, { lines }: Start, tools: RunTools | undefined) {
  const limit = maxTurns === undefined ? {} : { max_turns: maxTurns }
  return conversationRequest({ messages: lines, runtime_context: tools?.context ?? {}, ...limit })
}

/** What the developer declared for the loop itself. */
function declaredLoopOptions(
  options: ModelAgentOptions,
  speakers: Speakers,
  report: AgentContext['report'],
): Partial<LoopOptions> {
  const { budgets, completionPolicy, shouldContinue, compaction } = options
  const wrapWithErrorReport = <Given extends unknown[], Result>(
    source: ErrorSource['source'],
    call: (...given: Given) => Promise<Result> | Result,
  ) => {
    return async (...given: Given): Promise<Result> => {
      try {
        return await call(...given)
      } catch (error) {
        report(error, { source })
        throw error
      }
    }
  }
  const policy = fillCompactionPolicyDefaults({ enabled: true, ...compaction?.policy })
  return {
    ...(budgets === undefined ? {} : { budgets }),
    ...(completionPolicy === undefined
      ? {}
      : { completionPolicy: wrapWithErrorReport('completion_policy', completionPolicy) }),
    ...(shouldContinue === undefined ? {} : { shouldContinue: wrapWithErrorReport('should_continue', shouldContinue) }),
    ...(compaction === undefined
      ? {}
      : {
          compact: (lines) =>
            compactTranscript(
              lines,
              policy,
              wrapSummarizerWithSpeakerNames(wrapWithErrorReport('summarizer', compaction.summarize), speakers),
            ),
        }),
  }
}

/** Who makes the summary is told who said what, as the model itself is. */
function wrapSummarizerWithSpeakerNames(summarize: Summarizer, { isRoom, mark: readMark }: Speakers): Summarizer {
  return async (lines, facts) => {
    if (!needsSpeakerNames(lines, isRoom)) return summarize(lines, facts)
    const mark = await readMark()
    const summary = await summarize(nameSpeakers(lines, { isRoom, mark }).lines, facts)
    return typeof summary === 'string' ? removeSpeakerMark(summary, mark) : removeSpeakerMarkInJson(summary, mark)
  }
}

/** Its tools, and what watches over their use. */
function toolLoopOptions(tools: RunTools | undefined): Partial<LoopOptions> {
  if (tools === undefined) return {}
  const guards = { spinGuard: createRepeatedCallGuard(tools), failureGuard: createRepeatedFailureGuard(tools) }
  return { tools: tools.toolRunner, completionGate: createCompletionGate(tools.rules), ...guards }
}

/** A turn is claimed and ended by its lane; here the run only asks whether it was stopped. */
function createSignalRunControl(stop: AbortSignal): NonNullable<LoopOptions['runControl']> {
  return { start: async () => undefined, isCancelled: async () => stop.aborted, finish: async () => undefined }
}

function answeredCallOfResume({ resumed }: Start): { readonly answered?: AnsweredCall } {
  return resumed === undefined ? {} : { answered: resumed.answered }
}

function listNamedModels({ model, ...settings }: ModelAgentOptions): readonly NamedModel[] {
  const all: readonly (LanguageModel | Model)[] = isModelList(model) ? model : [model]
  return all.map((each, place) => ({
    name: modelName(each, place),
    model: typeof each === 'function' ? each : aiSdkModel(each, settings),
  }))
}

function isModelList(model: ModelAgentOptions['model']): model is readonly (LanguageModel | Model)[] {
  return Array.isArray(model)
}

/**
 * What this run added between what was heard and what is said. Those two are stored with the turn itself, also what was
 * heard on the way.
 */
function newTranscriptLines({ messages, final_content }: ConversationResult, given: number): readonly Envelope[] {
  const added = messages.slice(given).filter((line) => line.metadata['type'] !== steeredType)
  const last = added.findLastIndex((line) => line.type === 'text' && line.role === 'assistant')
  return final_content === '' ? added : added.filter((_, index) => index !== last)
}

/**
 * A model's answer is a step without effect, found by its number: after a crash it is read from the journal, however the words
 * it was asked with would be put today. Tools that appeared since are for the next turn.
 */
function journalModelTurns(
  { step, stop, attachments }: SignalContext,
  onDelta: ((delta: string) => void) | undefined,
): NonNullable<LoopOptions['keepTurn']> {
  let offered: readonly string[] | undefined
  return async (turn, ask) => {
    let isAsked = false
    const askModelOnce = async ({ signal }: { signal: AbortSignal }) => {
      isAsked = true
      const means = { signal: AbortSignal.any([signal, stop]), readFile: attachments.bytes, offered }
      return (await ask(means)) as Journaled
    }
    const kept: AnsweredTurn = await step(`model turn ${turn}`, askModelOnce, { effect: false })
    offered = kept.offered
    // Watching clients have just been told to start over.
    if (!isAsked && typeof kept.answer.content === 'string') onDelta?.(kept.answer.content)
    return kept.answer
  }
}

/** All of a turn is JSON by its type's own words, and a step makes it so. */
type Journaled = AnsweredTurn & Json
