// The open connections, so that one can be closed: the library gives its listeners a session and no connection.
import type { SMTPServer } from 'smtp-server'
import { type Reply, replies } from './replies.ts'

export type SmtpConnections = {
  readonly attach: (server: SMTPServer) => void
  readonly begin: (session: string, sessionMs: number) => void
  readonly end: (session: string) => void
  readonly hangUp: (session: string, reply: Reply) => void
  /** In the middle of a mail: left alone when we stop. */
  readonly busy: Set<string>
  readonly stop: () => void
  /** A mail is over; when we stop, so is its connection. */
  readonly free: (session: string) => void
}

export function createSmtpConnections(): SmtpConnections {
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  const busy = new Set<string>()
  let server: SMTPServer | undefined
  let isStopping = false
  const hangUpConnection: SmtpConnections['hangUp'] = (session, { code, text }) => {
    const line = [...(server?.connections ?? [])].find((each) => each.id === session)
    line?.send(code, text)
    line?.close()
  }
  return {
    attach: (attached) => (server = attached),
    begin: (session, sessionMs) =>
      timers.set(
        session,
        setTimeout(() => hangUpConnection(session, replies.tooLong), sessionMs),
      ),
    end(session) {
      clearTimeout(timers.get(session))
      timers.delete(session)
      busy.delete(session)
    },
    hangUp: hangUpConnection,
    busy,
    stop() {
      isStopping = true
      for (const { id } of server?.connections ?? []) if (!busy.has(id)) hangUpConnection(id, replies.stopping)
    },
    free(session) {
      busy.delete(session)
      // Once its answer is written.
      if (isStopping) setTimeout(() => hangUpConnection(session, replies.stopping), 0)
    },
  }
}
