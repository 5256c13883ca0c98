"""An authority and a server's certificate, made anew for each run."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def make(folder, names=("localhost",), addresses=("127.0.0.1", "::1")):
    """Writes ca.pem, other_ca.pem (which signed nothing), cert.pem and key.pem."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc)

    def builder(subject, issuer, key):
        return (x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name(issuer))
                .public_key(key.public_key()).serial_number(x509.random_serial_number())
                .not_valid_before(now - datetime.timedelta(days=1))
                .not_valid_after(now + datetime.timedelta(days=30)))

    def authority(subject):
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=True, crl_sign=True,
            encipher_only=False, decipher_only=False)
        certificate = (builder(subject, subject, key)
                       .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
                       .add_extension(usage, critical=True)
                       .sign(key, hashes.SHA256()))
        return key, certificate

    ca_key, ca = authority("quasi interop authority")
    _, other = authority("another authority")
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives = [x509.DNSName(name) for name in names] + \
        [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    certificate = (builder("localhost", "quasi interop authority", key)
                   .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
                   .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
                   .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
                                  critical=False)
                   .sign(ca_key, hashes.SHA256()))
    (folder / "ca.pem").write_bytes(_pem(ca))
    (folder / "other_ca.pem").write_bytes(_pem(other))
    (folder / "cert.pem").write_bytes(_pem(certificate))
    (folder / "key.pem").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    return folder
