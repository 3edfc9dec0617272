// How far forgetting reaches. The same in all: $1 tenant, $2 whom, as JSON; $3 the conversation where there is one.
//
//   a person    $2 is every name they go by: all that was said under one of them, and every turn that ran for one
//   an address  $2 is one subject of one connection and until when: what arrived from it by then, and nothing else, whichever person
//               an operator says that it belongs to

export type Reach = {
  /** Ends the names of its statements. */
  readonly name: string
  /** SQL: the column names them. */
  readonly isTheirs: (column: string) => string
  /** SQL: the receipt is of something they said. */
  readonly isSaid: (receipt: string) => string
  /** SQL: something of theirs in the conversation is out of reach, so that it goes on with them. */
  readonly isNewer: string
  /** SQL: only conversations of these, called `c`. */
  readonly isHere: string
  /** CTE `own`: turns of the conversation that were theirs by themselves. */
  readonly own: string
  /** SQL: which turns that signals began, called `t`, are of the person the signal was for. */
  readonly isBegun: string
}

const isNamedSubjectSql = (column: string): string =>
  `${column} = any(array(select json_array_elements_text($2::text::json)))`

export const aPerson: Reach = {
  name: '',
  isTheirs: isNamedSubjectSql,
  isSaid: (x) => `(${isNamedSubjectSql(`${x}.subject`)} or ${isNamedSubjectSql(`${x}.principal`)})`,
  isNewer: 'false',
  isHere: 'true',
  own: `
own as (
  select t.id from turns t where t.tenant = $1 and t.conversation_id = $3 and ${isNamedSubjectSql('t.principal')}
)`,
  // Those of timers name no person.
  isBegun: 't.principal is null',
}

const erasureFactSql = (name: string): string => `($2::text::json ->> '${name}')`
/** SQL for what an address is: JSON of `Farewell`. */
export const leaver = {
  subject: erasureFactSql('subject'),
  connection: erasureFactSql('connection'),
  at: `${erasureFactSql('at')}::timestamptz`,
}

const isAddress = (column: string): string => `${column} = ${leaver.subject}`
const isSaidThere = (x: string): string =>
  `(${x}.connection = ${leaver.connection} and ${isAddress(`${x}.subject`)} and ${x}.received_at <= ${leaver.at})`
const isSaidLater = (x: string): string => `(${isAddress(`${x}.subject`)} and ${x}.received_at > ${leaver.at})`

export const anAddress: Reach = {
  name: '_of_address',
  isTheirs: isAddress,
  isSaid: isSaidThere,
  isNewer: `(
    exists (select 1 from inbox x where x.conversation_id = $3 and x.state = 'queued' and ${isSaidLater('x')})
    or exists (
      select 1 from turns t join inbox x on x.turn_id = t.id
      where t.tenant = $1 and t.conversation_id = $3 and ${isSaidLater('x')})
    or exists (
      select 1 from pairings p join inbox x on x.pairing_id = p.id and x.state = 'held'
      where p.tenant = $1 and p.connection = ${leaver.connection} and ${isAddress('p.subject')} and ${isSaidLater('x')}))`,
  isHere: `c.connection = ${leaver.connection}`,
  // By who wrote what they answer, since they run for the person an operator says that is. One that also answers another person, or
  // something later, stays. What is left of a turn that was split answers nothing: it is known by whom it ran for.
  own: `
answering as materialized (
  select t.id, t.kind, t.principal, count(x.id) as members, count(x.id) filter (where ${isSaidThere('x')}) as theirs,
    count(x.id) filter (where x.subject is null) as nobodys
  from turns t left join inbox x on x.turn_id = t.id
  where t.tenant = $1 and t.conversation_id = $3 group by t.id
),
own as (
  select a.id from answering a where a.theirs > 0 and a.theirs + a.nobodys = a.members
  union
  select a.id from answering a
  where a.members = 0 and a.kind <> 'signal' and (${isAddress('a.principal')} or a.principal in (
    select o.principal from answering o where o.theirs > 0 and o.theirs + o.nobodys = o.members))
)`,
  isBegun: 'true',
}
