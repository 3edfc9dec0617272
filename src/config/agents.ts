// The agents of a configuration; where it names none, the demo agent or an assistant on the model of the environment.

import { type Agent, defineAgent } from '../agents/define-agent.ts'
import { demoAgent } from '../agents/demo-agent.ts'
import type { LanguageModel } from '../agents/models/model.ts'
import { openAiCompatible } from '../agents/models/openai-compatible.ts'
import { secret } from '../lib/secret.ts'
import { findDuplicates } from './name-checks.ts'

type Environment = Readonly<Record<string, string | undefined>>

export function readAgents(
  env: Environment,
  given: readonly Agent[] | undefined,
  problems: string[],
): readonly Agent[] {
  const agents = given ?? [createDefaultAgent(env, problems)]
  if (agents.length === 0) problems.push('agents is empty; add an agent, or leave agents out for the demo agent')
  for (const slug of findDuplicates(agents.map((agent) => agent.slug))) {
    const sources = agents.flatMap((agent, index) => (agent.slug === slug ? [describeAgentSource(agent, index)] : []))
    problems.push(`two agents are called "${slug}": ${joinAgentSources(sources)}; rename one of them`)
  }
  return agents
}

/** Where an agent comes from: what it says of itself, else its place in the configuration. */
function describeAgentSource({ provenance }: Agent, index: number): string {
  const { sourceType, sourcePackage, sourceVersion, sourceRef } = provenance ?? {}
  const version = sourceVersion === undefined ? '' : `@${sourceVersion}`
  const name = sourcePackage === undefined ? sourceType : `${sourcePackage}${version}`
  if (name === undefined) return sourceRef ?? `agents[${index}]`
  return sourceRef === undefined ? name : `${name} (${sourceRef})`
}

function joinAgentSources(sources: readonly string[]): string {
  const isAgentsIndex = (source: string): boolean => /^agents\[\d+\]$/.test(source)
  // Places of one list are named together.
  if (sources.every(isAgentsIndex)) return `${sources.join(' and ')} of the configuration`
  return sources.map((source) => (isAgentsIndex(source) ? `${source} of the configuration` : source)).join(' and ')
}

/** The demo agent, unless the environment names a model server: then an assistant on that. */
function createDefaultAgent(env: Environment, problems: string[]): Agent {
  const { PARLEY_MODEL_URL: baseUrl, PARLEY_MODEL: model, PARLEY_MODEL_KEY: key } = env
  if (baseUrl === undefined && model === undefined) return demoAgent
  if (baseUrl === undefined || model === undefined) {
    problems.push(`${baseUrl === undefined ? 'PARLEY_MODEL_URL' : 'PARLEY_MODEL'} is missing; a model needs both`)
    return demoAgent
  }
  const second = readFallbackModel(env, baseUrl, problems)
  const apiKey = key === undefined ? undefined : secret(key)
  const first = openAiCompatible({ baseUrl, model, ...(apiKey === undefined ? {} : { apiKey }) }, 'PARLEY_MODEL_KEY')
  return defineAgent({
    slug: 'assistant',
    instructions: 'You are a helpful assistant in a chat. Answer briefly, in the language you are addressed in.',
    model: second === undefined ? first : [first, second],
  })
}

/** On the same server unless it says otherwise; a key goes to no server but its own. */
function readFallbackModel(env: Environment, firstUrl: string, problems: string[]): LanguageModel | undefined {
  const { PARLEY_MODEL_FALLBACK: model, PARLEY_MODEL_FALLBACK_URL: url, PARLEY_MODEL_FALLBACK_KEY: own } = env
  if (model === undefined) {
    if (url !== undefined || own !== undefined) problems.push('PARLEY_MODEL_FALLBACK is missing; name the model')
    return undefined
  }
  const key = own ?? (url === undefined || url === firstUrl ? env['PARLEY_MODEL_KEY'] : undefined)
  const apiKey = key === undefined ? {} : { apiKey: secret(key) }
  return openAiCompatible({ baseUrl: url ?? firstUrl, model, ...apiKey }, 'PARLEY_MODEL_FALLBACK_KEY')
}

export function agentCallProblems(agents: readonly Agent[]): readonly string[] {
  const slugs = new Set(agents.map(({ slug }) => slug))
  return agents.flatMap(({ slug, agentCalls = [] }) =>
    agentCalls
      .filter((callee) => callee === slug || !slugs.has(callee))
      .map(
        (callee) =>
          `agent "${slug}": agentCalls names "${callee}", which is ${callee === slug ? 'itself' : 'no agent'}`,
      ),
  )
}
