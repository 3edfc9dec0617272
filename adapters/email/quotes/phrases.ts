// Phrases of mail programs above a quote and below a mail, in the languages their users set them to. Small letters, and
// compared as whole phrases: a table is easier to add a language to than a pattern, and cannot be made to search for long.

/** "… wrote:": what the person did who is quoted below. */
export const wroteWords: readonly string[] = phrases(`
  wrote | writes | missatge de | écrit | schrieb | geschrieben | escribió | escribio | escribe | ha scritto | scrisse | escreveu |
  schreef | geschreven | skrev | skrifaði | kirjoitti | napisał | napisała | napisał(a) | pisze | написал | написала |
  написал(а) | написав | пишет | пише | писал | написа | napsal | napsala | napsal(a) | napísal | napísala |
  napísal(a) | írta | ezt írta | a scris | yazdı | şunu yazdı | έγραψε | je napisao | je napisala | je napisao/la |
  napisao je | je napisal | je napisal/a | kirjutas | rakstīja | rašė | parašė | đã viết | menulis | telah menulis |
  va escriure | ha escrit | escribiu | idatzi du | skryf | schrief | scríobh | 写道 | 寫道 | 写到 | のメール | 書きました | のメッセージ |
  작성 | 님이 작성 | 썼습니다 | 님이 쓴 글 | كتب | كتبت | كتب/كتبت | כתב | כתבה | כתב/ה | כתב:‏ | مینویسد | نوشت | ने लिखा |
  เขียนว่า | şunları yazdı`)

/** "On …": how such a line begins, with a date to follow. */
export const onWords: readonly string[] = phrases(`
  on | at | in | le | am | el | il | em | op | den | dnia | w dniu | dne | dňa | på | ngày | vào | vào ngày |
  vào lúc | no dia | a | dana | στις | на | в | у | от | pada | la | pada tanggal | il giorno | el día | vom | v |
  monday | tuesday | wednesday | thursday | friday | saturday | sunday | بتاريخ | في | בתאריך | ב | le lun`)

/** Days as some programs begin with them: a number follows at once. */
export const dayWords: readonly string[] = phrases(`
  mon | tue | wed | thu | fri | sat | sun | lun | mar | mer | mié | jeu | jue | ven | vie | sam | sáb | dim | dom |
  gio | seg | ter | qua | qui | sex | mo | di | mi | do | fr | sa | so | ma | wo | vr | za | zo | tir | ons | tor |
  fre | lør | søn | tis | lör | sön | ti | ke | to | pe | la | su | pon | pn | wt | śr | czw | pt | sob | niedz | po |
  út | st | čt | pá | ne | пн | вт | ср | чт | пт | сб | вс | нд`)

export type HeaderKind = 'from' | 'sent' | 'to' | 'cc' | 'subject' | 'reply-to'

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

export const headerWords: ReadonlyMap<string, HeaderKind> = new Map(
  headerWordsByKind.flatMap(([kind, words]) => phrases(words).map((word) => [word, kind] as const)),
)

/** Between dashes: what follows is the mail that is answered. */
export const originalPhrases: readonly string[] = phrases(`
  original message | original email | original appointment | reply message | message d’origine | message d'origine |
  message original | ursprüngliche nachricht | originalnachricht | original-nachricht | originalmeldung |
  mensaje original | messaggio originale | mensagem original | oorspronkelijk bericht | oorspronkelijke bericht |
  oprindelig meddelelse | oprindelig besked | original besked | ursprungligt meddelande | originalmeddelande | opprinnelig melding |
  original melding | alkuperäinen viesti | oryginalna wiadomość | wiadomość oryginalna | исходное сообщение |
  оригинальное сообщение | вихідне повідомлення | původní zpráva | pôvodná správa | eredeti üzenet | orijinal ileti |
  orijinal mesaj | özgün ileti | αρχικό μήνυμα | mesaj original | izvorna poruka | originalna poruka | thư gốc |
  pesan asli | 原始邮件 | 原始郵件 | 原邮件 | 原始消息 | 元のメッセージ | 원본 메시지 | 원본 메일 | الرسالة الأصلية | הודעה מקורית`)

/** Between dashes, or as a line of their own: what follows is handed on, and is what the mail is about. */
export const forwardPhrases: readonly string[] = phrases(`
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
export const sentFromPhrases: readonly string[] = phrases(`
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

function phrases(list: string): readonly string[] {
  return list.split('|').map((phrase) => phrase.trim())
}
