// Replies as mail programs write them, in our own words: what the author wrote is known, everything around it is the program's.

export type Reply = { readonly name: string; readonly mail: string; readonly text: string }

const answer = 'Yes, Thursday works.\n\nSee you then'
const asked = ['Shall we meet on Thursday?', '', 'Ann']

/** Lines above the quoted mail, as programs set to these languages write them. */
const attributions: Readonly<Record<string, string>> = {
  English: 'On Tue, Mar 5, 2024 at 9:12 AM Ann Lee <ann@x.example> wrote:',
  'English, Apple': 'On 5 Mar 2024, at 09:12, Ann Lee <ann@x.example> wrote:',
  'English, in two lines':
    'On Tue, Mar 5, 2024 at 9:12 AM Ann Lee from the Long Named Company <\nann@x.example> wrote:',
  'English, in three lines': 'On Tue, Mar 5, 2024 at 9:12 AM Ann Lee\n<ann@x.example>\nwrote:',
  'English, Zoho': '---- On Tue, 05 Mar 2024 09:12:00 +0100 Ann Lee <ann@x.example> wrote ----',
  'English, name first': 'Ann Lee <ann@x.example> wrote on 5 March 2024 at 09:12:',
  German: 'Am Di., 5. März 2024 um 09:12 Uhr schrieb Ann Lee <ann@x.example>:',
  'German, Thunderbird': 'Am 05.03.24 um 09:12 schrieb Ann Lee <ann@x.example>:',
  'German, in two lines': 'Ann Lee <ann@x.example> schrieb am Di., 5. März 2024,\n09:12:',
  French: 'Le mar. 5 mars 2024 à 09:12, Ann Lee <ann@x.example> a écrit :',
  'French, in two lines': 'Le mar. 5 mars 2024 à 09:12, Ann Lee <ann@x.example>\na écrit :',
  Spanish: 'El mar, 5 mar 2024 a las 9:12, Ann Lee (<ann@x.example>) escribió:',
  Italian: 'Il giorno mar 5 mar 2024 alle ore 09:12 Ann Lee <ann@x.example> ha scritto:',
  Portuguese: 'Em ter., 5 de mar. de 2024 às 09:12, Ann Lee <ann@x.example> escreveu:',
  Dutch: 'Op di 5 mrt 2024 om 09:12 schreef Ann Lee <ann@x.example>:',
  'Dutch, Apple': 'Op 5 mrt 2024 om 09:12 heeft Ann Lee <ann@x.example> het volgende geschreven:',
  Swedish: 'Den tis 5 mars 2024 kl 09:12 skrev Ann Lee <ann@x.example>:',
  Danish: 'Den tirs. 5. mar. 2024 kl. 09.12 skrev Ann Lee <ann@x.example>:',
  Norwegian: 'tir. 5. mars 2024 kl. 09:12 skrev Ann Lee <ann@x.example>:',
  Finnish: 'ti 5. maalisk. 2024 klo 9.12 Ann Lee (ann@x.example) kirjoitti:',
  Polish: 'wt., 5 mar 2024 o 09:12 Ann Lee <ann@x.example> napisał(a):',
  Czech: 'út 5. 3. 2024 v 9:12 odesílatel Ann Lee <ann@x.example> napsal:',
  Slovak: 'ut 5. 3. 2024 o 9:12 Ann Lee <ann@x.example> napísal(a):',
  Hungarian: 'Ann Lee <ann@x.example> ezt írta (időpont: 2024. márc. 5., K, 9:12):',
  Romanian: 'mar., 5 mar. 2024 la 09:12, Ann Lee <ann@x.example> a scris:',
  Russian: 'вт, 5 мар. 2024 г. в 09:12, Ann Lee <ann@x.example>:',
  'Russian, with a verb': '5 марта 2024 г. 09:12 пользователь Ann Lee <ann@x.example> написал:',
  Ukrainian: 'вт, 5 бер. 2024 р. о 09:12 Ann Lee <ann@x.example> пише:',
  Bulgarian: 'На вт, 5.03.2024 г. в 9:12 Ann Lee <ann@x.example> написа:',
  Greek: 'Στις Τρί 5 Μαρ 2024 στις 9:12 π.μ., ο χρήστης Ann Lee <ann@x.example> έγραψε:',
  Turkish: 'Ann Lee <ann@x.example>, 5 Mar 2024 Sal, 09:12 tarihinde şunu yazdı:',
  Croatian: 'uto, 5. ožu 2024. u 09:12 Ann Lee <ann@x.example> napisao je:',
  Estonian: 'Kuupäev T, 5. märts 2024 kell 09:12 kirjutas kasutaja Ann Lee <ann@x.example>:',
  Vietnamese: 'Vào Th 3, 5 thg 3, 2024 vào lúc 09:12 Ann Lee <ann@x.example> đã viết:',
  Indonesian: 'Pada tanggal Sel, 5 Mar 2024 pukul 09.12 Ann Lee <ann@x.example> menulis:',
  Catalan: 'Missatge de Ann Lee <ann@x.example> del dia dt., 5 de març 2024 a les 9:12:',
  'Chinese, simplified': 'Ann Lee <ann@x.example> 于2024年3月5日周二 09:12写道：',
  'Chinese, traditional': 'Ann Lee <ann@x.example> 於 2024年3月5日 週二 上午9:12寫道：',
  Japanese: '2024年3月5日(火) 9:12 Ann Lee <ann@x.example>:',
  Korean: '2024년 3월 5일 (화) 오전 9:12, Ann Lee <ann@x.example>님이 작성:',
  Arabic: 'في الثلاثاء، 5 مارس 2024 في 9:12 ص كتب Ann Lee <ann@x.example>:',
  Hebrew: 'בתאריך יום ג׳, 5 במרץ 2024 ב-9:12 מאת Ann Lee <ann@x.example>:',
  Thai: 'เมื่อ อ. 5 มี.ค. 2024 เวลา 09:12 Ann Lee <ann@x.example> เขียนว่า:',
}

/** From, sent, to, subject: the lines above the mail in Outlook. */
const headerBlocks: Readonly<Record<string, readonly [string, string, string, string]>> = {
  English: ['From', 'Sent', 'To', 'Subject'],
  German: ['Von', 'Gesendet', 'An', 'Betreff'],
  French: ['De', 'Envoyé', 'À', 'Objet'],
  Spanish: ['De', 'Enviado', 'Para', 'Asunto'],
  Italian: ['Da', 'Inviato', 'A', 'Oggetto'],
  Portuguese: ['De', 'Enviada em', 'Para', 'Assunto'],
  Dutch: ['Van', 'Verzonden', 'Aan', 'Onderwerp'],
  Swedish: ['Från', 'Skickat', 'Till', 'Ämne'],
  Danish: ['Fra', 'Sendt', 'Til', 'Emne'],
  Finnish: ['Lähettäjä', 'Lähetetty', 'Vastaanottaja', 'Aihe'],
  Polish: ['Od', 'Wysłano', 'Do', 'Temat'],
  Czech: ['Od', 'Odesláno', 'Komu', 'Předmět'],
  Hungarian: ['Feladó', 'Elküldve', 'Címzett', 'Tárgy'],
  Russian: ['От', 'Отправлено', 'Кому', 'Тема'],
  Turkish: ['Kimden', 'Gönderildi', 'Kime', 'Konu'],
  Greek: ['Από', 'Στάλθηκε', 'Προς', 'Θέμα'],
  Chinese: ['发件人', '发送时间', '收件人', '主题'],
  Japanese: ['差出人', '送信日時', '宛先', '件名'],
  Korean: ['보낸 사람', '보낸 날짜', '받는 사람', '제목'],
}

/** Lines between the reply and the mail. */
const separators: Readonly<Record<string, string>> = {
  English: '-----Original Message-----',
  'English, with spaces': '-------- Original Message --------',
  German: '-----Ursprüngliche Nachricht-----',
  French: "-------- Message d'origine --------",
  Spanish: '-----Mensaje original-----',
  Italian: '-----Messaggio originale-----',
  Portuguese: '-----Mensagem original-----',
  Dutch: '-----Oorspronkelijk bericht-----',
  Swedish: '-----Ursprungligt meddelande-----',
  Polish: '-----Wiadomość oryginalna-----',
  Russian: '-----Исходное сообщение-----',
  Chinese: '------------------ 原始邮件 ------------------',
}

/** What programs and people put below their words. */
const signatures: Readonly<Record<string, string>> = {
  'the mark of Usenet': '-- \nBob\nAcme Ltd\n+1 555 0100',
  'a mark without its space': '--\nBob',
  'an iPhone': 'Sent from my iPhone',
  'a phone with a long name': 'Sent from my Galaxy S24 Ultra 5G',
  'Outlook for iOS': 'Get Outlook for iOS<https://aka.ms/o0ukef>',
  'a German phone': 'Von meinem iPhone gesendet',
  'a French phone': 'Envoyé de mon iPhone',
  'a Spanish phone': 'Enviado desde mi iPhone',
  'an Italian phone': 'Inviato da iPhone',
  'a Dutch phone': 'Verzonden vanaf mijn iPhone',
  'a Danish phone': 'Sendt fra min iPhone',
  'a Polish phone': 'Wysłane z iPhone’a',
  'a Russian phone': 'Отправлено с iPhone',
  'a Chinese phone': '发自我的iPhone',
  'a Japanese phone': 'iPhoneから送信',
  'a mark, and a phone below it': '-- \nBob\n\nSent from my iPhone',
}

const quoted = asked.map((line) => `> ${line}`.trimEnd()).join('\n')

function blockOf([from, sent, to, subject]: readonly [string, string, string, string]): string {
  return `${from}: Ann Lee <ann@x.example>\n${sent}: 05.03.2024 09:12\n${to}: Bob\n${subject}: Thursday`
}

function replies(
  kind: string,
  by: Readonly<Record<string, string>>,
  mail: (piece: string) => string,
): readonly Reply[] {
  return Object.entries(by).map(([name, piece]) => ({ name: `${kind}: ${name}`, mail: mail(piece), text: answer }))
}

const blocks = Object.fromEntries(Object.entries(headerBlocks).map(([name, words]) => [name, blockOf(words)]))
const unquoted = asked.join('\n')

export const quotedReplies: readonly Reply[] = [
  ...replies('attribution above marked lines', attributions, (line) => `${answer}\n\n${line}\n\n${quoted}\n`),
  ...replies('attribution above lines without marks', attributions, (line) => `${answer}\n\n${line}\n\n${unquoted}\n`),
  ...replies('header lines', blocks, (block) => `${answer}\n\n${block}\n\n${unquoted}\n`),
  ...replies(
    'header lines below a rule',
    blocks,
    (block) => `${answer}\n\n${'_'.repeat(32)}\n${block}\n\n${unquoted}\n`,
  ),
  ...replies('separator', separators, (line) => `${answer}\n\n${line}\n${unquoted}\n`),
  ...replies(
    'a name before each mark',
    { short: 'AL> ', twice: 'AL>> ', long: 'Christopher> ', double: 'Jean-Luc> ', accented: 'Jürgen> ' },
    (mark) => `${answer}\n\n${asked.map((line) => `${mark}${line}`.trimEnd()).join('\n')}\n`,
  ),
  ...replies('signature', signatures, (lines) => `${answer}\n\n${lines}\n`),
  ...replies(
    'signature above a quote',
    signatures,
    (lines) => `${answer}\n\n${lines}\n\n${attributions['English']}\n\n${quoted}\n`,
  ),
]
