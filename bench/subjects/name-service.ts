// The name system inside of the process, in the shape of DNS over HTTPS: no lookup costs the machine a connection.
import type { Zone } from '../platforms/email.ts'

const txt = 16
const [noError, noSuchName] = [0, 3]

export function nameService(zone: Zone): (url: string) => Response {
  return (url) => {
    const { searchParams } = new URL(url)
    const name = searchParams.get('name') ?? ''
    const data = searchParams.get('type') === 'TXT' ? zone[name] : undefined
    if (data === undefined) return Response.json({ Status: noSuchName })
    return Response.json({ Status: noError, Answer: [{ name, type: txt, TTL: 3600, data }] })
  }
}
