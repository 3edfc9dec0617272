// A mail handed in over SMTP, as a person would type it.
import { connect } from 'node:net'

/** One command, one answer. Answers the last line. */
export async function submit(port: number, commands: readonly string[], mail: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const answers = lines(socket)
  const say = async (text: string): Promise<string> => {
    socket.write(`${text}\r\n`)
    return answers()
  }
  try {
    await answers()
    await say('EHLO people.example')
    for (const command of commands) {
      const answer = await say(command)
      if (!answer.startsWith('250')) return answer
    }
    await say('DATA')
    return await say(`${mail.replaceAll(/\r?\n/g, '\r\n').replaceAll(/^\./gm, '..')}\r\n.`)
  } finally {
    socket.destroy()
  }
}

/** The last line of each answer. */
function lines(socket: ReturnType<typeof connect>): () => Promise<string> {
  let held = ''
  const chunks = socket.iterator({ destroyOnReturn: false })
  return async () => {
    for (;;) {
      const [, before = '', last] = /^((?:\d{3}-.*\r\n)*)(\d{3} .*)\r\n/.exec(held) ?? []
      if (last !== undefined) {
        held = held.slice(before.length + last.length + 2)
        return last
      }
      const { done, value } = await chunks.next()
      if (done === true) throw new Error('the server hung up')
      held += String(value)
    }
  }
}
