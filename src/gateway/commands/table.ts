// The commands the gateway answers itself. Any other command is a message for the agent.
import type { NormalizedMessage } from '../../contract/index.ts'
import { type ControlCommand, parseChatCommand } from '../../inbound/control-command.ts'
import { answerAgents } from './agents.ts'
import { answerDecision } from './approvals.ts'
import type { ChatCommandContext, Command, Told } from './command.ts'
import { answerConsent } from './consent.ts'
import { answerPair } from './pair.ts'
import { answerStatus } from './status.ts'
import { answerStop } from './stop.ts'

const commands: Readonly<Record<string, Command>> = {
  stop: { help: 'stop what I am doing for you', answer: answerStop },
  status: { help: 'what I am doing, and what waits', answer: answerStatus },
  approve: { help: 'approve what I asked about', answer: answerDecision },
  reject: { help: 'decline what I asked about', answer: answerDecision },
  agents: { help: 'who answers here, and how to write to them', answer: answerAgents },
  pair: { help: 'let a person in by the code they were given (admins only)', answer: answerPair },
  consent: { help: 'what I may do with what you say', answer: answerConsent },
  help: { help: 'this list', answer: answerHelp },
}

export const controlNames: ReadonlySet<string> = new Set(Object.keys(commands))

export function parseKnownCommand(message: Pick<NormalizedMessage, 'channel' | 'parts'>): ControlCommand | undefined {
  return parseChatCommand(message, controlNames)
}

export function isControl(message: Pick<NormalizedMessage, 'channel' | 'parts'>): boolean {
  return parseKnownCommand(message) !== undefined
}

export async function answerCommand(scene: ChatCommandContext): Promise<string | Told> {
  const command = commands[scene.command.name] ?? { answer: answerHelp }
  return command.answer(scene)
}

/** The agent's own words, then what works whatever the agent is. */
function answerHelp({ deps, agent, write }: ChatCommandContext): string {
  const facts = deps.agents.get(agent)
  const about = facts?.help ?? facts?.description
  const own = Object.entries(commands).map(([name, { help }]) => `${write(name)} - ${help}`)
  const rotation = deps.turnPolicy.rotateCommands.slice(0, 1).map((name) => `${write(name)} - start a fresh session`)
  return [...(about === undefined ? [] : [about, '']), 'Always:', ...own, ...rotation].join('\n')
}
