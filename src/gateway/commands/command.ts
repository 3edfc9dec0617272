// What a command for the gateway is given and what it answers: words, rendered like any reply, and what they mean.
import type { ControlFacts, StoredGrant } from '../../contract/index.ts'
import type { RunsAtAGlance } from '../../db/runs.ts'
import type { ControlCommand } from '../../inbound/control-command.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'

export type ChatCommandContext = {
  readonly deps: GatewayDeps
  readonly at: GatewayConnection
  readonly command: ControlCommand
  /** A command as people write it on this channel. */
  readonly write: (name: string, about?: string) => string
  /** Who speaks, as the access policy resolved them. */
  readonly principal: string
  /** What they are called where they speak. */
  readonly by: string | undefined
  /** The command is a press on a button. */
  readonly isClick: boolean
  /** By a stored grant for this agent, as of now. */
  readonly isOperator: boolean
  readonly role: string | null
  /** How strongly they are proven by the message with the command. */
  readonly assurance: string | null
  /** What makes them an admin here; none: they are not. */
  readonly adminGrants: readonly StoredGrant[]
  readonly agent: string
  /** The turn the command is. */
  readonly turn: { readonly id: string; readonly tenant: string }
  /** The conversation the command is about; undefined where there is none, or the speaker takes no part in it. */
  readonly glance: RunsAtAGlance | undefined
}

export type Command = {
  /** One line of /help. */
  readonly help: string
  readonly answer: (scene: ChatCommandContext) => Promise<string | Told> | string | Told
}

/** Words about a decision, which one, and about what if something was decided. */
export type Told = {
  readonly says: string
  readonly decision: NonNullable<ControlFacts['decision']>
  readonly actionId?: string
}
