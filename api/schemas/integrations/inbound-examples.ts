/** What each provider sends to its address, in its own form. */
export const inboundExamples: Readonly<Record<string, unknown>> = {
  slack: {
    type: 'event_callback',
    team_id: 'T0123456789',
    api_app_id: 'A0123456789',
    event_id: 'Ev0123456789',
    event_time: 1_763_717_400,
    event: { type: 'message', channel: 'C0123456789', user: 'U0123456789', text: 'Hello', ts: '1763717400.000100' },
  },
  'microsoft-teams': {
    value: [
      {
        subscriptionId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
        clientState: 'the state that Atelier chose',
        changeType: 'created',
        resource: "teams('0199')/channels('19:abc')/messages('1763717400000')",
      },
    ],
  },
  hubspot: [
    {
      eventId: 1,
      subscriptionType: 'contact.creation',
      portalId: 62_515,
      objectId: 1_207,
      occurredAt: 1_763_717_400_000,
    },
  ],
  linkedin: {
    event: 'message_received',
    account_id: 'acc_0199',
    chat_id: 'chat_01j9',
    message_id: 'msg_01j9',
    message: 'Thank you!',
  },
};
