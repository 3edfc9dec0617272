// The introduction of a quote: "On Monday at 10:00, Ann <ann@example.com> wrote:", often broken into several lines, and header
// lines of a forwarded mail.

import { findNextNonBlankLine, type MailLine } from './mail-lines.ts'

type Attribution = {
  /** How many lines it takes up. */
  readonly length: number
  /** Where the quoted lines below it begin; undefined where what follows is not marked as quoted. */
  readonly quoteAt: number | undefined
}

const maxWritten = 4
const maxAttributionLines = 6
const mailAddress = /[^\s<>"@]@[^\s<>"@]/
const clock = /\d{1,2}[:.h]\d{2}|\d{1,2}\s?(?:am|pm|uhr|時|时|點|点|시)/
const date = /\d{4}|\d{1,2}[./-]\d{1,2}|\d{1,2}\s?(?:月|월)/
const beginsWithDate =
  /^\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|^\d{1,2}\.? \p{L}{2,12}\.? \d{4}/u
/** `<ann@example.com>:` */
const bracketed = /<[^<>]{3,250}> ?[:：]$/
const closings = [':', '：', '﹕']

export function findAttributionAt(lines: readonly MailLine[], start: number): Attribution | undefined {
  const first = lines[start]
  if (first === undefined || first.isBlank || first.isQuote || first.text === '') return undefined
  const reach = attributionSearchLimits(first)
  let joined = ''
  let written = 0
  for (let at = start; at < lines.length && at < start + reach.lines && written < reach.written; at += 1) {
    const line = lines[at]
    if (line === undefined || (line.isQuote && !isAttributionTail(line, joined))) break
    if (line.isBlank) continue
    // One that surely begins further down is another one.
    if (at > start && startsLikeDatedAttribution(line) && date.test(line.low)) return undefined
    written += 1
    joined = joined === '' ? line.low : `${joined} ${line.low}`
    if (isCompleteAttribution(joined)) return attributionFromCandidate(lines, { joined, start, end: at + 1 })
  }
  return findDateOnlyAttribution(lines, start)
}

/** `<ann@example.com` on one line and `> wrote:` on the next. */
function isAttributionTail(line: MailLine, joined: string): boolean {
  if (line.text.length > 60 || joined === '' || !endsWithColon(line.text)) return false
  return hasWordWrote(line.low) || joined.lastIndexOf('<') > joined.lastIndexOf('>')
}

/** How far down its end is looked for: only what looks like a beginning may go on over several lines. */
function attributionSearchLimits(line: MailLine): { readonly lines: number; readonly written: number } {
  if (startsLikeDatedAttribution(line)) return { lines: maxAttributionLines, written: maxWritten }
  const isNamed = mailAddress.test(line.low) || (/\d/.test(line.low) && hasWordWrote(line.low))
  return isNamed ? { lines: 2, written: 2 } : { lines: 1, written: 1 }
}

function startsLikeDatedAttribution({ low }: MailLine): boolean {
  const words = low.replace(/^[-\s]+/, '')
  if (beginsWithDate.test(words) || dayWords.some((day) => startsWithDayAndNumber(words, day))) return true
  return startsWithWordOn(words) && (date.test(words) || clock.test(words) || (words.includes(',') && /\d/.test(words)))
}

function startsWithDayAndNumber(low: string, day: string): boolean {
  return low.startsWith(day) && /^[.,]{0,2} ?\d/.test(low.slice(day.length))
}

function isCompleteAttribution(joined: string): boolean {
  if (endsWithColon(joined)) return true
  if (!clock.test(joined) || !hasWordWrote(joined)) return false
  return joined.endsWith('--') || (mailAddress.test(joined) && /\p{L}$/u.test(joined) && endsWithWordWrote(joined))
}

type Candidate = { readonly joined: string; readonly start: number; readonly end: number }

/** Above marked quotes little evidence is enough; without them it must be what only a program writes. */
function attributionFromCandidate(
  lines: readonly MailLine[],
  { joined, start, end }: Candidate,
): Attribution | undefined {
  const next = findNextNonBlankLine(lines, end)
  const isAboveQuote = next < lines.length && next - end <= 2 && isQuotedOrBarredLine(lines[next])
  const verb = hasWordWrote(joined)
  const address = mailAddress.test(joined)
  const length = end - start
  if (isAboveQuote) {
    const isLikely = verb || (address && clock.test(joined)) || (address && date.test(joined))
    return isLikely ? { length, quoteAt: next } : undefined
  }
  const begins = startsWithWordOn(joined.replace(/^[-\s]+/, '')) || beginsWithDate.test(joined) || address
  const isTimed = clock.test(joined) && date.test(joined)
  const isSigned = (verb && begins && (address || isTimed)) || (isTimed && bracketed.test(joined))
  // A sentence of the author's that ends in a colon has no room for a date, a time and an address.
  return isSigned && joined.length <= 400 ? { length, quoteAt: undefined } : undefined
}

/** Some programs write a date, a time and a name, and neither a verb nor a colon. */
function findDateOnlyAttribution(lines: readonly MailLine[], start: number): Attribution | undefined {
  const low = lines[start]?.low ?? ''
  if (!beginsWithDate.test(low) || low.length > 200) return undefined
  const next = findNextNonBlankLine(lines, start + 1)
  const isAboveQuote = isQuotedOrBarredLine(lines[next])
  const isStamped = /^\S+ \d{1,2}:\d{2}(?::\d{2})? (?:gmt|utc)[+-]\d/.test(low)
  if (isStamped || (isAboveQuote && mailAddress.test(low) && low.endsWith('>')))
    return { length: 1, quoteAt: isAboveQuote ? next : undefined }
  return undefined
}

/** Below such a line also bars mark a quote. */
function isQuotedOrBarredLine(line: MailLine | undefined): boolean {
  return line !== undefined && (line.isQuote || line.text.startsWith('|'))
}

/** Behind the colon there may be what closes a bracket, turns the direction or draws a line. */
function endsWithColon(text: string): boolean {
  let last = text.length - 1
  while (last >= 0 && ' \t\u200e\u200f>])-'.includes(text.charAt(last))) last -= 1
  return closings.includes(text.charAt(last))
}

function startsWithWordOn(low: string): boolean {
  return (
    onWords.some((word) => low.startsWith(word) && /^[\s,.:]/.test(low.slice(word.length))) || /^[在于於] ?\d/.test(low)
  )
}

function hasWordWrote(low: string): boolean {
  return wroteWords.some((word) => {
    const at = low.lastIndexOf(word)
    if (at === -1) return false
    // Scripts without spaces have no ends of words to look for.
    if (!/^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u.test(word)) return true
    return !/\p{L}$/u.test(low.slice(0, at)) && !/^\p{L}/u.test(low.slice(at + word.length))
  })
}

function endsWithWordWrote(low: string): boolean {
  return wroteWords.some((word) => low.endsWith(` ${word}`))
}

// Outlook and others write a few header lines above the mail that is answered: "From: …, Sent: …, To: …, Subject: …".

const maxBlockLines = 14
const maxBetween = 2

/** How many lines such a block takes up from here; 0 where there is none. */
export function countHeaderBlockLinesAt(lines: readonly MailLine[], start: number): number {
  const first = readHeaderKind(lines[start])
  if (first === undefined || first === 'cc') return 0
  const kinds = new Set<HeaderKind>()
  let end = start
  let between = 0
  for (let at = start; at < lines.length && at < start + maxBlockLines; at += 1) {
    const kind = readHeaderKind(lines[at])
    if (kind !== undefined) {
      // The same field a second time is another block, or a list the author made.
      if (kinds.has(kind) && kind !== 'cc') break
      kinds.add(kind)
      end = at + 1
      between = 0
    } else if (between < maxBetween && isWithinHeaderBlock(lines, at)) between += 1
    else break
  }
  return isHeaderBlock(kinds) ? end - start : 0
}

/** A value that goes on on the next line, or a blank line between two fields. */
function isWithinHeaderBlock(lines: readonly MailLine[], at: number): boolean {
  if (lines[at]?.isBlank !== true)
    return readHeaderKind(lines[at + 1]) !== undefined || readHeaderKind(lines[at + 2]) !== undefined
  return readHeaderKind(lines[findNextNonBlankLine(lines, at)]) !== undefined
}

function isHeaderBlock(kinds: ReadonlySet<HeaderKind>): boolean {
  if (!kinds.has('from')) return false
  return kinds.has('sent') ? kinds.size >= 3 : kinds.has('to') && kinds.has('subject')
}

function readHeaderKind(line: MailLine | undefined): HeaderKind | undefined {
  if (line === undefined || line.isBlank) return undefined
  const low = line.low.replace(/^>+\s*/, '')
  const colon = low.search(/[:：]/)
  return colon < 1 || colon > 24 ? undefined : headerWords.get(low.slice(0, colon).trim())
}

// Separator lines stand between a mail and the one it answers or forwards.

const frames = ['--', '__', '==']

/** "-----Original Message-----" */
export function isOriginalMessageLine({ low, text }: MailLine): boolean {
  const phrase = stripFrameCharacters(low)
  return startsOrEndsWithFrame(text) && originalPhrases.some((each) => phrase === each || phrase === `${each}:`)
}

/** "---------- Forwarded message ---------", "Begin forwarded message:", also where it is quoted. */
export function isForwardedMessageLine({ low, text }: MailLine): boolean {
  const phrase = stripFrameCharacters(low.replace(/^>+\s*/, ''))
  const isAlone = low.endsWith(':') || low.endsWith('：')
  if (!startsOrEndsWithFrame(text.replace(/^>+\s*/, '')) && !isAlone) return false
  return forwardPhrases.some((each) => phrase === each || phrase === `${each}:` || phrase.startsWith(`${each} `))
}

/** Nothing but signs that people and programs draw lines with. */
export function isSeparatorLine({ text, isBlank }: MailLine): boolean {
  return !isBlank && /^[-_=~+#*.·•—–\s\u1427]{1,500}$/.test(text) && /[-_=~+#*—–\u1427]/.test(text)
}

/** A long row of underscores: what Outlook puts above its header lines, and lists above their footers. */
export function isLongSeparatorLine({ text }: MailLine): boolean {
  return /^_{10,}$/.test(text)
}

function startsOrEndsWithFrame(text: string): boolean {
  return frames.some((frame) => text.startsWith(frame) || text.endsWith(frame))
}

function stripFrameCharacters(low: string): string {
  let [from, to] = [0, low.length]
  while (from < to && '-_=* \t'.includes(low.charAt(from))) from += 1
  while (to > from && '-_=* \t'.includes(low.charAt(to - 1))) to -= 1
  return low.slice(from, to)
}

// Phrases of mail programs above a quote and below a mail, in the languages their users set them to. Small letters, and
// compared as whole phrases: a table is easier to add a language to than a pattern, and cannot be made to search for long.

/** "… wrote:": what the person did who is quoted below. */
const wroteWords: readonly string[] = splitPhrases(`
  wrote | writes | missatge de | écrit | schrieb | geschrieben | escribió | escribio | escribe | ha scritto | scrisse | escreveu |
  schreef | geschreven | skrev | skrifaði | kirjoitti | napisał | napisała | napisał(a) | pisze | написал | написала |
  написал(а) | написав | пишет | пише | писал | написа | napsal | napsala | napsal(a) | napísal | napísala |
  napísal(a) | írta | ezt írta | a scris | yazdı | şunu yazdı | έγραψε | je napisao | je napisala | je napisao/la |
  napisao je | je napisal | je napisal/a | kirjutas | rakstīja | rašė | parašė | đã viết | menulis | telah menulis |
  va escriure | ha escrit | escribiu | idatzi du | skryf | schrief | scríobh | 写道 | 寫道 | 写到 | のメール | 書きました | のメッセージ |
  작성 | 님이 작성 | 썼습니다 | 님이 쓴 글 | كتب | كتبت | كتب/كتبت | כתב | כתבה | כתב/ה | כתב:‏ | مینویسد | نوشت | ने लिखा |
  เขียนว่า | şunları yazdı`)

/** "On …": how such a line begins, with a date to follow. */
const onWords: readonly string[] = splitPhrases(`
  on | at | in | le | am | el | il | em | op | den | dnia | w dniu | dne | dňa | på | ngày | vào | vào ngày |
  vào lúc | no dia | a | dana | στις | на | в | у | от | pada | la | pada tanggal | il giorno | el día | vom | v |
  monday | tuesday | wednesday | thursday | friday | saturday | sunday | بتاريخ | في | בתאריך | ב | le lun`)

/** Days as some programs begin with them: a number follows at once. */
const dayWords: readonly string[] = splitPhrases(`
  mon | tue | wed | thu | fri | sat | sun | lun | mar | mer | mié | jeu | jue | ven | vie | sam | sáb | dim | dom |
  gio | seg | ter | qua | qui | sex | mo | di | mi | do | fr | sa | so | ma | wo | vr | za | zo | tir | ons | tor |
  fre | lør | søn | tis | lör | sön | ti | ke | to | pe | la | su | pon | pn | wt | śr | czw | pt | sob | niedz | po |
  út | st | čt | pá | ne | пн | вт | ср | чт | пт | сб | вс | нд`)

type HeaderKind = 'from' | 'sent' | 'to' | 'cc' | 'subject' | 'reply-to'

const headerWordsByKind: readonly (readonly [HeaderKind, string])[] = [
  [
    'from',
    `
    from | von | de | da | van | fra | från | lähettäjä | od | nadawca | от | от кого | від | feladó | kimden |
    gönderen | από | de la | expéditeur | remitente | mittente | afzender | absender | avsändare | saatja | no | nuo |
    发件人 | 寄件者 | 寄件人 | 差出人 | 送信者 | 보낸 사람 | 보낸사람 | من | מאת | từ | người gửi | dari | จาก | odesílatel`,
  ],
  [
    'sent',
    `
    sent | date | gesendet | datum | envoyé | envoyé le | enviado | enviado el | enviado em | enviada em | enviada |
    fecha | data | inviato | data invio | verzonden | sendt | skickat | dato | lähetetty | päivämäärä | päiväys |
    wysłano | data wysłania | отправлено | дата | надіслано | odesláno | odoslané | dátum | elküldve | küldve |
    gönderildi | tarih | gönderme tarihi | στάλθηκε | ημερομηνία | trimis | 发送时间 | 发送日期 | 日期 | 時間 | 傳送時間 | 寄件日期 |
    送信日時 | 日時 | 보낸 날짜 | 날짜 | تاريخ الإرسال | التاريخ | تم الإرسال | נשלח | תאריך | đã gửi | ngày | dikirim | tanggal |
    poslano | sent at`,
  ],
  [
    'to',
    `
    to | an | à | a | para | aan | til | till | vastaanottaja | do | кому | komu | pro | címzett | kime | alıcı |
    προς | către | destinataire | destinatario | empfänger | ontvanger | 收件人 | 收件者 | 宛先 | 받는 사람 | 받는사람 | إلى | אל |
    đến | kepada | ถึง | adresat | za | pour`,
  ],
  [
    'cc',
    `
    cc | kopie | copie | copia | kopia | kopi | bcc | dw | копия | копія | másolatot kap | bilgi | κοιν | 抄送 | 副本 |
    참조 | نسخة | עותק`,
  ],
  [
    'subject',
    `
    subject | betreff | objet | asunto | oggetto | assunto | onderwerp | emne | ämne | aihe | temat | тема | předmět |
    predmet | tárgy | konu | θέμα | subiect | 主题 | 主旨 | 主題 | 件名 | 제목 | الموضوع | נושא | chủ đề | subjek | perihal |
    เรื่อง | zadeva | teema`,
  ],
  [
    'reply-to',
    `
    reply-to | reply to | antwort an | répondre à | responder a | rispondi a | risposta | antwoord aan |
    odpowiedz do | 回复 | 返信先`,
  ],
]

const headerWords: ReadonlyMap<string, HeaderKind> = new Map(
  headerWordsByKind.flatMap(([kind, words]) => splitPhrases(words).map((word) => [word, kind] as const)),
)

/** Between dashes: what follows is the mail that is answered. */
const originalPhrases: readonly string[] = splitPhrases(`
  original message | original email | original appointment | reply message | message d’origine | message d'origine |
  message original | ursprüngliche nachricht | originalnachricht | original-nachricht | originalmeldung |
  mensaje original | messaggio originale | mensagem original | oorspronkelijk bericht | oorspronkelijke bericht |
  oprindelig meddelelse | oprindelig besked | original besked | ursprungligt meddelande | originalmeddelande | opprinnelig melding |
  original melding | alkuperäinen viesti | oryginalna wiadomość | wiadomość oryginalna | исходное сообщение |
  оригинальное сообщение | вихідне повідомлення | původní zpráva | pôvodná správa | eredeti üzenet | orijinal ileti |
  orijinal mesaj | özgün ileti | αρχικό μήνυμα | mesaj original | izvorna poruka | originalna poruka | thư gốc |
  pesan asli | 原始邮件 | 原始郵件 | 原邮件 | 原始消息 | 元のメッセージ | 원본 메시지 | 원본 메일 | الرسالة الأصلية | הודעה מקורית`)

/** Between dashes, or as a line of their own: what follows is handed on, and is what the mail is about. */
const forwardPhrases: readonly string[] = splitPhrases(`
  forwarded message | begin forwarded message | forwarded by | message transféré | début du message transféré |
  message réexpédié | début du message réexpédié | weitergeleitete nachricht | anfang der weitergeleiteten nachricht |
  weitergeleitet von | mensaje reenviado | inicio del mensaje reenviado | messaggio inoltrato |
  inizio messaggio inoltrato | mensagem encaminhada | mensagem reencaminhada | início da mensagem encaminhada |
  início da mensagem reencaminhada | doorgestuurd bericht | begin doorgestuurd bericht | videresendt meddelelse |
  videresendt besked | videresendt melding | start på videresendt besked | vidarebefordrat meddelande |
  vidarebefordrat brev | välitetty viesti | edelleenlähetetty viesti | przekazana wiadomość | wiadomość przekazana |
  пересылаемое сообщение | пересланное сообщение | начало переадресованного сообщения | переслане повідомлення |
  přeposlaná zpráva | preposlaná správa | továbbított üzenet | iletilen mesaj | yönlendirilen ileti |
  προωθημένο μήνυμα | mesaj redirecționat | proslijeđena poruka | thư được chuyển tiếp | 转发的邮件 | 转发邮件 | 轉寄的郵件 | 轉寄郵件 |
  転送メッセージ | 転送されたメッセージ | 전달된 메시지 | 전달된 메일 | رسالة معاد توجيهها | الرسالة المعاد توجيهها | הודעה שהועברה`)

/** How phones sign. The line begins with it and is short. */
export const sentFromPhrases: readonly string[] = splitPhrases(`
  sent from | sent via | sent with | sent by | sent using | from my iphone | from my ipad | from my mobile |
  from my android | get outlook for | get [outlook for | download outlook | envoyé de | envoyé depuis |
  envoyé à partir | obtenez outlook | télécharger outlook | von meinem | gesendet von | gesendet mit | gesendet über |
  diese nachricht wurde von meinem | holen sie sich outlook | enviado desde | enviado do | enviado de |
  enviado a partir | enviado con | enviado via | enviado pelo | obtener outlook | obter o outlook | obtenga outlook |
  inviato da | inviato dal | inviato tramite | inviato con | ottieni outlook | verzonden vanaf | verzonden met |
  verstuurd vanaf | verstuurd met | outlook voor | sendt fra | sendt via | skickat från | skickat med |
  skickades från | hämta outlook | hent outlook | lähetetty | hanki outlook | wysłano z | wysłane z |
  pobierz outlook | отправлено с | отправлено из | отправлено от | отправлено через | надіслано з | odesláno z |
  odoslané z | elküldve | iphone-omról küldve | iphone'umdan gönderildi | στάλθηκε από | trimis de pe | poslano z |
  poslano s | được gửi từ | đã gửi từ | gửi từ | dikirim dari | 发自我的 | 从我的 | 從我的 | 寄自 | 發自 | 发送自 | 来自我的 | iphoneから送信 |
  androidから送信 | 나의 iphone | 내 iphone | أُرسلت من | أرسلت من | أُرسل من | נשלח מה | נשלח מ`)

function splitPhrases(list: string): readonly string[] {
  return list.split('|').map((phrase) => phrase.trim())
}
