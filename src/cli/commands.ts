// The command line, from its words to the code that says how it went. Prints for people, or JSON for programs.
import { channelCommands } from '../channels.ts'
import { agentsCommand } from './agents.ts'
import { approvalsCommands } from './approvals.ts'
import { attachmentsCommands } from './attachments.ts'
import { auditCommands } from './audit.ts'
import { backupCommand } from './backup.ts'
import { statsCommand } from './books.ts'
import { channelGroup } from './channel-commands.ts'
import { connectionsCommands } from './connections.ts'
import { deadLettersCommands } from './dead.ts'
import { deliveriesCommands } from './deliveries.ts'
import { explainCommand } from './explain.ts'
import { eraseCommand } from './forget.ts'
import { grantsCommands } from './grants.ts'
import { migrateCommand } from './migrate.ts'
import { pairingsCommands } from './pairings.ts'
import { principalsCommands } from './principals.ts'
import { replayCommand } from './replay.ts'
import { restoreCommand } from './restore.ts'
import { runCli } from './run.ts'
import { runsCommands } from './runs.ts'
import { secretsCommands } from './secrets.ts'
import { sessionsCommands } from './sessions.ts'
import { startCommand } from './start.ts'
import { tokensCommands } from './tokens.ts'
import { toolRequestsCommands } from './tool-requests.ts'
import { version } from './version.ts'

const root = {
  name: 'parley',
  description: 'Make an agent reachable from every channel, with nothing lost and nothing doubled.',
  examples: ['parley start', 'parley books'],
  commands: [
    startCommand,
    migrateCommand,
    backupCommand,
    restoreCommand,
    statsCommand,
    agentsCommand,
    connectionsCommands,
    explainCommand,
    deliveriesCommands,
    deadLettersCommands,
    runsCommands,
    replayCommand,
    approvalsCommands,
    toolRequestsCommands,
    sessionsCommands,
    attachmentsCommands,
    pairingsCommands,
    grantsCommands,
    principalsCommands,
    tokensCommands,
    secretsCommands,
    auditCommands,
    eraseCommand,
    ...channelCommands.map(channelGroup),
  ],
}

/** Writes to the streams of this process, and answers the exit code. */
export function runParley(words: readonly string[]): Promise<number> {
  return runCli(root, version, words)
}
